// Patterns as their authors publish them (tokenizer.json, tokenization_*.py of the models). The
// patterns of o200k and Tekken are the originals; the forms in other engines drop marks and cases.
#include "text/split/schemes.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "text/split/published_punctuation.h"

namespace ruv {
namespace {

// The class of all published punctuation, built at compile time, followed by a +.
class PunctuationPattern {
 public:
  constexpr PunctuationPattern() {
    add('[');
    for (const CodePointRange& range : kPublishedPunctuation) {
      add_literal(range.first);
      if (range.last == range.first) continue;
      add('-');
      add_literal(range.last);
    }
    add(']');
    add('+');
  }
  constexpr std::string_view text() const { return {text_, size_}; }

 private:
  constexpr void add(uint32_t byte) { text_[size_++] = static_cast<char>(byte); }
  constexpr void add_literal(uint32_t c) {
    if (c < 0x80) {
      add('\\');
      add(c);
      return;
    }
    constexpr uint32_t kLeads[] = {0, 0xC0, 0xE0, 0xF0};
    uint32_t n_more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    add(kLeads[n_more] | c >> (6 * n_more));
    while (n_more-- > 0) add(0x80 | (c >> (6 * n_more) & 0x3F));
  }

  char text_[2048] = {};
  size_t size_ = 0;
};

constexpr PunctuationPattern kPunctuationPattern;

}  // namespace

namespace patterns {
constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kDigits = R"(\p{N}+)";
constexpr std::string_view kPunctuation = kPunctuationPattern.text();
constexpr std::string_view kPunctuationSign = kPunctuation.substr(0, kPunctuation.size() - 1);
// Alphabetic (letters, letter numbers, the enclosed letters among symbols), marks, decimal numbers,
// connectors, and the two joiners.
constexpr std::string_view kWord =
    "[\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\u200C-\u200D\u24B6-\u24E9\U0001F130-\U0001F149"
    "\U0001F150-\U0001F169\U0001F170-\U0001F189]+";
}  // namespace patterns

namespace {

using patterns::kDigit;
using patterns::kDigits;
using patterns::kGpt2;
using patterns::kPunctuation;
using patterns::kPunctuationSign;

constexpr std::string_view kThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kNewline = R"([\r\n])";
constexpr std::string_view kNewlines = R"([^\n]+|[\n]+)";
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
constexpr std::string_view kKimi =
    R"([\p{Han}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBloom = " ?[^(\\s|.,!?…。，、।۔،)]+";
constexpr std::string_view kBailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*)"
    R"(|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kJais2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S))"
    R"(|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr std::string_view kMinicpm5 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kExaoneMoe =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kSentinel = "<sentinel:[0-9]+>";
constexpr std::string_view kImage = "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z";
constexpr std::string_view kTabOrSpaces = R"(([\t\n]|    |  ))";
constexpr std::string_view kSpacedLetters = R"(\s?\p{L}+)";
constexpr std::string_view kSpacedPunctuation = R"(\s?\p{P}+)";
constexpr std::string_view kSpacedSigns = R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)";
constexpr std::string_view kLastSpaces = R"(\s+$)";
constexpr std::string_view kCjk = "[一-龥぀-ゟ゠-ヿ]+";
constexpr std::string_view kEast = "[一-龥ࠀ-一가-퟿]+";
constexpr std::string_view kButBacktick = R"([\p{P}\$\+<=>\^~\|]+)";
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

// Empty patterns are unused. The first of rows with equal patterns names the scheme of a
// tokenizer.json; the first of rows with equal names is the scheme.
struct Scheme {
  std::string_view name;
  std::string_view patterns[6];
};

constexpr Scheme kSchemes[] = {
    {"gpt-2", {kGpt2}},
    {"phi-2", {kGpt2}},
    {"mpt", {kGpt2}},
    {"olmo", {kGpt2}},
    {"roberta-bpe", {kGpt2}},
    {"r50k_base", {kGpt2}},
    {"p50k_base", {kGpt2}},
    {"jais", {kGpt2}},
    {"trillion", {kGpt2}},
    {"granite-docling", {kGpt2}},
    {"exaone4", {kGpt2}},
    {"jina-v1-en", {kGpt2}},
    {"jina-v2-code", {kGpt2}},
    {"jina-v2-es", {kGpt2}},
    {"jina-v2-de", {kGpt2}},
    {"jina-es", {kGpt2}},
    {"jina-de", {kGpt2}},
    {"modern-bert", {kGpt2}},
    {"llama-bpe", {kLlama3}},
    {"llama3", {kLlama3}},
    {"llama-v3", {kLlama3}},
    {"falcon3", {kLlama3}},
    {"falcon-h1", {kLlama3}},
    {"lfm2", {kLlama3}},
    {"pixtral", {kLlama3}},
    {"dbrx", {kLlama3}},
    {"smaug-bpe", {kLlama3}},
    {"chatglm-bpe", {kLlama3}},
    {"glm4", {kLlama3}},
    {"cl100k_base", {kLlama3}},
    {"dolma2", {kLlama3}},
    {"olmo2", {kLlama3}},
    {"qwen2", {kQwen2}},
    {"qwen3", {kQwen2}},
    {"deepseek-r1-qwen", {kQwen2}},
    {"stablelm2", {kQwen2}},
    {"hunyuan", {kQwen2}},
    {"megrez", {kQwen2}},
    {"grok-2", {kQwen2}},
    {"solar-open", {kQwen2}},
    {"kormo", {kQwen2}},
    {"qwen35", {kQwen35}},
    {"gpt-4o", {kGpt4o}},
    {"o200k", {kGpt4o}},
    {"o200k_base", {kGpt4o}},
    {"gpt-oss", {kGpt4o}},
    {"llama4", {kGpt4o}},
    {"minimax-m2", {kGpt4o}},
    {"kanana2", {kGpt4o}},
    {"tekken", {kTekken}},
    {"kimi-k2", {kKimi}},
    {"bailingmoe", {kBailing}},
    {"bailingmoe2", {kBailing}},
    {"llada-moe", {kBailing}},
    {"exaone-moe", {kExaoneMoe}},
    {"seed-coder", {kSeedCoder}},
    {"jais-2", {kJais2}},
    {"minicpm5", {kThreeDigits, kMinicpm5}},
    {"bloom", {kBloom}},
    {"poro-chat", {kBloom}},
    {"gpt3-finnish", {kBloom}},
    {"viking", {kBloom, kDigit}},
    {"gemma4", {kNewlines}},
    {"starcoder", {kDigit, kGpt2}},
    {"smollm", {kDigit, kGpt2}},
    {"refact", {kDigit, kGpt2}},
    {"command-r", {kDigit, kGpt2}},
    {"codeshell", {kDigit, kGpt2}},
    {"exaone", {kDigit, kGpt2}},
    {"minerva-7b", {kDigit, kGpt2}},
    {"chameleon", {kSentinel, kImage, kTabOrSpaces, kDigit, kPunctuationSign, kGpt2}},
    {"falcon", {kPunctuation, kGpt2, kAsciiTriplet}},
    {"falcon", {kPunctuation, kGpt2, kDigits, kAsciiTriplet}},
    {"default", {kButBacktick, kGpt2, kDigits, kAsciiTriplet}},
    {"deepseek-llm", {kNewline, kSpacedCased, kSpacedSigns, kLastSpaces, kEast, kDigits}},
    {"deepseek-coder", {kNewline, kSpacedLetters, kSpacedPunctuation, kEast, kDigit}},
    {"deepseek-v3", {kThreeDigits, kCjk, kDeepseekV3}},
    {"deepseek-r1", {kThreeDigits, kCjk, kDeepseekV3}},
    {"hunyuan-dense", {kThreeDigits, kCjk, kDeepseekV3}},
    {"joyai-llm", {kThreeDigits, kCjk, kDeepseekV3}},
};

std::span<const std::string_view> used_patterns(const Scheme& scheme) {
  const auto* end = std::find(std::begin(scheme.patterns), std::end(scheme.patterns), "");
  return {std::begin(scheme.patterns), end};
}

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

std::span<const std::string_view> scheme_patterns(std::string_view name) {
  const Scheme* found = std::find_if(std::begin(kSchemes), std::end(kSchemes),
                                     [&](const Scheme& scheme) { return scheme.name == name; });
  if (found == std::end(kSchemes)) return {};
  return used_patterns(*found);
}

std::optional<std::string_view> find_scheme(std::span<const std::string> given) {
  std::vector<std::string> patterns;
  for (const std::string& pattern : given) patterns.push_back(with_escaped_lines(pattern));
  for (const Scheme& scheme : kSchemes) {
    const auto used = used_patterns(scheme);
    if (std::equal(used.begin(), used.end(), patterns.begin(), patterns.end())) return scheme.name;
  }
  return std::nullopt;
}

std::span<const std::string_view> scheme_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const Scheme& scheme : kSchemes) {
      if (names.empty() || names.back() != scheme.name) names.push_back(scheme.name);
    }
    return names;
  }();
  return kNames;
}

}  // namespace ruv
