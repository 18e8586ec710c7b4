// The table of patterns with their matchers, and the table of schemes made of them.
#include "text/split/pre_tokenizer.h"

#include <algorithm>
#include <iterator>

#include "text/split/word_rules.h"

namespace ruv {
namespace {

using namespace chars;

// Letters with case as of Unicode 11, the published class of DeepSeek-LLM.
constexpr std::string_view kSpacedCased =
    R"(\s?[)"
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ"
    "-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫ"
    "ᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-"
    "ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-"
    "ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-"
    "ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-"
    "𑣟𞤀-"
    "𞥃"
    "]+";
constexpr std::string_view kCasedLetters = kSpacedCased.substr(4, kSpacedCased.size() - 6);

// A class written as characters and ranges: "a-zµ". Requires: valid UTF-8, no escapes.
bool in_ranges(std::string_view ranges, uint32_t c) {
  for (size_t i = 0; i < ranges.size();) {
    const CodePoint first = decode_utf8(ranges, i);
    i += first.size;
    CodePoint last = first;
    if (i < ranges.size() && ranges[i] == '-') {
      last = decode_utf8(ranges, i + 1);
      i += 1 + last.size;
    }
    if (c >= first.value && c <= last.value) return true;
  }
  return false;
}

// Matchers: the end of the match at `at`, or `at`.
using Match = size_t (*)(std::string_view text, size_t at);

template <class InClass>
size_t class_run(std::string_view text, size_t at, const InClass& in_class) {
  for (Char c = char_at(text, at); c.size != 0 && in_class(c); c = char_at(text, at)) at += c.size;
  return at;
}

// \s?[class]+
template <class InClass>
size_t spaced_run(std::string_view text, size_t at, const InClass& in_class) {
  const Char c = char_at(text, at);
  const size_t from = c.in(kSpace) ? at + c.size : at;
  const size_t end = class_run(text, from, in_class);
  // A space that is itself in the class matches without a lead.
  return end > from ? end : class_run(text, at, in_class);
}

bool is_punctuation(const Char& c) {
  return c.in(kPunctuation) || (c.value < 128 && c.in(kSymbol));
}
bool is_ascii_digit(const Char& c) { return c.value >= '0' && c.value <= '9'; }
bool is_cjk(const Char& c) {
  return (c.value >= 0x4E00 && c.value <= 0x9FA5) || (c.value >= 0x3040 && c.value <= 0x30FF);
}
// [一-龥ࠀ-一가-퟿]
bool is_east_of_0800(const Char& c) {
  return (c.value >= 0x800 && c.value <= 0x9FA5) || (c.value >= 0xAC00 && c.value <= 0xD7FF);
}
// [!-/:-~！-／：-～‘-‟　-。]
bool is_deepseek_sign(const Char& c) {
  const uint32_t v = c.value;
  return (v >= 0x21 && v <= 0x2F) || (v >= 0x3A && v <= 0x7E) || (v >= 0xFF01 && v <= 0xFF0F) ||
         (v >= 0xFF1A && v <= 0xFF5E) || (v >= 0x2018 && v <= 0x201F) ||
         (v >= 0x3000 && v <= 0x3002);
}
bool is_cased_letter(const Char& c) {
  return c.value < 128 ? c.in(kLetter) : in_ranges(kCasedLetters, c.value);
}

size_t llama3_word(std::string_view t, size_t at) { return word_rules::cl100k(t, at, kLetter, 3); }
size_t qwen2_word(std::string_view t, size_t at) { return word_rules::cl100k(t, at, kLetter, 1); }
size_t qwen35_word(std::string_view t, size_t at) {
  return word_rules::cl100k(t, at, kLetter | kMark, 1);
}
size_t gpt4o_word(std::string_view t, size_t at) { return word_rules::o200k(t, at, true, 3); }
size_t tekken_word(std::string_view t, size_t at) { return word_rules::o200k(t, at, false, 1); }
size_t one_digit(std::string_view t, size_t at) { return word_rules::run_of(t, at, kNumber, 1); }
size_t three_digits(std::string_view t, size_t at) { return word_rules::run_of(t, at, kNumber, 3); }
size_t digit_run(std::string_view t, size_t at) { return word_rules::run_of(t, at, kNumber); }
size_t one_newline(std::string_view t, size_t at) { return word_rules::run_of(t, at, kNewline, 1); }
size_t exactly_three_ascii_digits(std::string_view t, size_t at) {
  for (size_t i = 0; i < 3; ++i) {
    if (!is_ascii_digit(char_at(t, at + i))) return at;
  }
  return at + 3;
}
size_t punctuation_run(std::string_view t, size_t at) { return class_run(t, at, is_punctuation); }
size_t punctuation_but_backtick(std::string_view t, size_t at) {
  return class_run(t, at, [](const Char& c) { return c.value != '`' && is_punctuation(c); });
}
size_t cjk_run(std::string_view t, size_t at) { return class_run(t, at, is_cjk); }
size_t east_run(std::string_view t, size_t at) { return class_run(t, at, is_east_of_0800); }
size_t spaced_letters(std::string_view t, size_t at) {
  return spaced_run(t, at, [](const Char& c) { return c.in(kLetter); });
}
size_t spaced_punctuation(std::string_view t, size_t at) {
  return spaced_run(t, at, [](const Char& c) { return c.in(kPunctuation); });
}
size_t spaced_cased_letters(std::string_view t, size_t at) {
  return spaced_run(t, at, is_cased_letter);
}
size_t spaced_deepseek_signs(std::string_view t, size_t at) {
  return spaced_run(t, at, is_deepseek_sign);
}

// Each match is a word, and so is each stretch between matches.
template <Match match>
void isolate(std::string_view text, size_t begin, size_t end, std::vector<size_t>& ends) {
  const std::string_view piece = text.substr(begin, end - begin);
  size_t word = 0;
  for (size_t at = 0; at < piece.size();) {
    const size_t match_end = match(piece, at);
    if (match_end == at) {
      at += char_at(piece, at).size;
      continue;
    }
    if (at > word) ends.push_back(begin + at);
    ends.push_back(begin + match_end);
    at = word = match_end;
  }
  if (word < piece.size()) ends.push_back(end);
}

// \s+$ : the white space at the end of the piece is a word.
void isolate_last_spaces(std::string_view text, size_t begin, size_t end,
                         std::vector<size_t>& ends) {
  size_t spaces_begin = end;
  for (size_t at = begin; at < end;) {
    const Char c = char_at(text.substr(0, end), at);
    if (!c.in(kSpace)) {
      spaces_begin = end;
    } else if (spaces_begin == end) {
      spaces_begin = at;
    }
    at += c.size;
  }
  if (spaces_begin > begin) ends.push_back(spaces_begin);
  if (spaces_begin < end) ends.push_back(end);
}

struct Pattern {
  std::string_view regex;
  PreTokenizer::Step step;
};

constexpr std::string_view kThreeDigitsRegex = R"(\p{N}{1,3})";
constexpr std::string_view kNewlineRegex = R"([\r\n])";
constexpr std::string_view kAsciiTriplet = "[0-9][0-9][0-9]";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
    R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepseekV3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSpacedLetters = R"(\s?\p{L}+)";
constexpr std::string_view kSpacedPunctuation = R"(\s?\p{P}+)";
constexpr std::string_view kSpacedSigns = R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)";
constexpr std::string_view kLastSpaces = R"(\s+$)";
constexpr std::string_view kCjk = "[一-龥぀-ゟ゠-ヿ]+";
constexpr std::string_view kEast = "[一-龥ࠀ-一가-퟿]+";
constexpr std::string_view kButBacktick = R"([\p{P}\$\+<=>\^~\|]+)";

}  // namespace

namespace patterns {
constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kDigits = R"(\p{N}+)";
constexpr std::string_view kPunctuation = R"([\p{P}\$\+<=>\^~\|`]+)";
}  // namespace patterns

namespace {

constexpr Pattern kPatterns[] = {
    {patterns::kGpt2, isolate<word_rules::gpt2>},
    {patterns::kDigit, isolate<one_digit>},
    {patterns::kDigits, isolate<digit_run>},
    {patterns::kPunctuation, isolate<punctuation_run>},
    {kThreeDigitsRegex, isolate<three_digits>},
    {kNewlineRegex, isolate<one_newline>},
    {kAsciiTriplet, isolate<exactly_three_ascii_digits>},
    {kLlama3, isolate<llama3_word>},
    {kQwen2, isolate<qwen2_word>},
    {kQwen35, isolate<qwen35_word>},
    {kGpt4o, isolate<gpt4o_word>},
    {kTekken, isolate<tekken_word>},
    {kDeepseekV3, isolate<word_rules::deepseek_v3>},
    {kSpacedLetters, isolate<spaced_letters>},
    {kSpacedPunctuation, isolate<spaced_punctuation>},
    {kSpacedCased, isolate<spaced_cased_letters>},
    {kSpacedSigns, isolate<spaced_deepseek_signs>},
    {kLastSpaces, isolate_last_spaces},
    {kCjk, isolate<cjk_run>},
    {kEast, isolate<east_run>},
    {kButBacktick, isolate<punctuation_but_backtick>},
};

// A row holds up to 6 patterns; empty ones are unused. Of rows with the same patterns the first
// names the scheme of a tokenizer.json.
struct Scheme {
  std::string_view name;
  std::string_view patterns[6];
};

constexpr Scheme kSchemes[] = {
    {"gpt-2", {patterns::kGpt2}},
    {"phi-2", {patterns::kGpt2}},
    {"mpt", {patterns::kGpt2}},
    {"olmo", {patterns::kGpt2}},
    {"roberta-bpe", {patterns::kGpt2}},
    {"llama-bpe", {kLlama3}},
    {"llama3", {kLlama3}},
    {"llama-v3", {kLlama3}},
    {"falcon3", {kLlama3}},
    {"pixtral", {kLlama3}},
    {"dbrx", {kLlama3}},
    {"smaug-bpe", {kLlama3}},
    {"qwen2", {kQwen2}},
    {"qwen3", {kQwen2}},
    {"deepseek-r1-qwen", {kQwen2}},
    {"stablelm2", {kQwen2}},
    {"qwen35", {kQwen35}},
    {"gpt-4o", {kGpt4o}},
    {"o200k", {kGpt4o}},
    {"tekken", {kTekken}},
    {"starcoder", {patterns::kDigit, patterns::kGpt2}},
    {"smollm", {patterns::kDigit, patterns::kGpt2}},
    {"refact", {patterns::kDigit, patterns::kGpt2}},
    {"command-r", {patterns::kDigit, patterns::kGpt2}},
    {"codeshell", {patterns::kDigit, patterns::kGpt2}},
    {"falcon", {patterns::kPunctuation, patterns::kGpt2, kAsciiTriplet}},
    {"falcon", {patterns::kPunctuation, patterns::kGpt2, patterns::kDigits, kAsciiTriplet}},
    {"default", {kButBacktick, patterns::kGpt2, patterns::kDigits, kAsciiTriplet}},
    {"deepseek-llm",
     {kNewlineRegex, kSpacedCased, kSpacedSigns, kLastSpaces, kEast, patterns::kDigits}},
    {"deepseek-coder",
     {kNewlineRegex, kSpacedLetters, kSpacedPunctuation, kEast, patterns::kDigit}},
    {"deepseek-v3", {kThreeDigitsRegex, kCjk, kDeepseekV3}},
};

// Some files hold line ends in a class as they are, some as \r and \n.
std::string with_escaped_lines(std::string_view pattern) {
  std::string out;
  for (const char c : pattern) {
    if (c == '\r') {
      out += "\\r";
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Result<PreTokenizer> PreTokenizer::find(std::string_view name) {
  const Scheme* scheme = std::find_if(std::begin(kSchemes), std::end(kSchemes),
                                      [&](const Scheme& s) { return s.name == name; });
  if (scheme == std::end(kSchemes)) {
    return fail(Code::unsupported,
                "pre-tokenizer scheme \"{}\" is unknown: splitting text by another rule would give "
                "wrong tokens",
                name);
  }
  PreTokenizer found;
  for (const std::string_view regex : scheme->patterns) {
    if (regex.empty()) break;
    found.steps_.push_back(
        std::find_if(std::begin(kPatterns), std::end(kPatterns), [&](const Pattern& p) {
          return p.regex == regex;
        })->step);
  }
  return found;
}

Result<PreTokenizer> PreTokenizer::create(std::span<const SplitStep> steps) {
  std::vector<std::string> patterns;
  for (const SplitStep& step : steps) patterns.push_back(step.regex);
  const auto scheme = find_scheme(patterns);
  if (!scheme) return fail(Code::unsupported, "pre-tokenizer: these patterns are unknown");
  return find(*scheme);
}

bool PreTokenizer::next_words(std::string_view text, size_t& at, std::vector<Word>& words) const {
  words.clear();
  if (at == text.size()) return false;
  std::vector<size_t> ends;
  split(text, ends);
  for (const size_t end : ends) {
    words.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
    at = end;
  }
  return true;
}

void PreTokenizer::split(std::string_view text, std::vector<size_t>& ends) const {
  ends.clear();
  if (text.empty()) return;
  steps_.front()(text, 0, text.size(), ends);
  std::vector<size_t> coarse;
  for (size_t i = 1; i < steps_.size(); ++i) {
    coarse.swap(ends);
    ends.clear();
    size_t begin = 0;
    for (const size_t end : coarse) {
      steps_[i](text, begin, end, ends);
      begin = end;
    }
  }
}

std::optional<std::string_view> find_scheme(std::span<const std::string> given) {
  std::vector<std::string> patterns;
  for (const std::string& pattern : given) patterns.push_back(with_escaped_lines(pattern));
  for (const Scheme& scheme : kSchemes) {
    const auto used = std::find(std::begin(scheme.patterns), std::end(scheme.patterns), "");
    if (std::equal(std::begin(scheme.patterns), used, patterns.begin(), patterns.end())) {
      return scheme.name;
    }
  }
  return std::nullopt;
}

}  // namespace ruv
