// One function per kind of step. The order of steps is kept. A step that would see a text which a
// TokenizerSpec never produces at that point (▁ is added last, bytes come after all splits) is
// refused.
#include "format/tokenizer_json_steps.h"

#include <algorithm>
#include <iterator>

#include "format/base64.h"
#include "format/bert_steps.h"
#include "text/space_mark.h"
#include "text/split/pre_tokenizer.h"

namespace ruv {
namespace {

struct PlainStep {
  std::string_view type;
  NormalizerKind kind;
  std::string_view pattern = {};
};
// Steps without parameters.
constexpr PlainStep kPlainSteps[] = {
    {"NFC", NormalizerKind::nfc},
    {"NFD", NormalizerKind::nfd},
    {"NFKC", NormalizerKind::nfkc},
    {"NFKD", NormalizerKind::nfkd},
    {"Lowercase", NormalizerKind::lowercase},
    // The other steps may leave nothing of a text, and then no ▁ precedes it.
    {"StripAccents", NormalizerKind::strip_accents, "M"},
    {"Nmt", NormalizerKind::nmt},
};
constexpr size_t kNeverEmptying = 5;

struct Behavior {
  std::string_view name;
  SplitBehavior behavior;
};
constexpr Behavior kBehaviors[] = {
    {"Isolated", SplitBehavior::isolated},
    {"Removed", SplitBehavior::removed},
    {"MergedWithPrevious", SplitBehavior::merged_with_previous},
    {"MergedWithNext", SplitBehavior::merged_with_next},
    {"Contiguous", SplitBehavior::contiguous},
};

std::optional<SplitBehavior> behavior_named(std::string_view name) {
  const auto* found = std::find_if(std::begin(kBehaviors), std::end(kBehaviors),
                                   [&](const Behavior& b) { return b.name == name; });
  if (found == std::end(kBehaviors)) return std::nullopt;
  return found->behavior;
}

// A regular expression that matches just `literal`.
std::string escaped(std::string_view literal) {
  std::string regex;
  for (const char c : literal) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == ' ' || static_cast<uint8_t>(c) < 0x20 ||
                       static_cast<uint8_t>(c) >= 0x80;
    if (!plain) regex += '\\';
    regex += c;
  }
  return regex;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

}  // namespace

Result<PipelineForm> PipelineSteps::read() {
  for (const JsonElement& step : steps_of(root_, "normalizer", "normalizers")) {
    TRY(read_normalizer(step));
  }
  for (const JsonElement& step : steps_of(root_, "pre_tokenizer", "pretokenizers")) {
    TRY(read_split(step));
  }
  form_.marks_spaces = replaces_ || metaspace_;
  if (prepends_ && !form_.marks_spaces) return unsupported("normalizer", "Prepend");
  if (prepends_ && metaspace_) {
    // Metaspace puts ▁ only before a text that has none.
    spec_.prefix_if_missing = spec_.prefix_first_only = false;
  }
  find_pre();
  return form_;
}

// A step, or the steps of a Sequence one after another.
Status PipelineSteps::read_normalizer(const JsonElement& step) {
  const std::string_view type = text_of(step, "type");
  if (type == "Replace") return read_replace(step);
  if (type == "Prepend") return read_prepend(step);
  if (replaces_) {
    return unsupported("normalizer", fmt::format("{} after spaces are replaced", type));
  }
  const auto* plain = std::find_if(std::begin(kPlainSteps), std::end(kPlainSteps),
                                   [&](const PlainStep& p) { return p.type == type; });
  const bool keeps_some = plain < kPlainSteps + kNeverEmptying;
  if (prepends_ && !keeps_some)
    return unsupported("normalizer", fmt::format("{} after Prepend", type));
  if (plain != std::end(kPlainSteps)) {
    spec_.normalizers.push_back({.kind = plain->kind, .pattern = std::string(plain->pattern)});
  } else if (type == "Strip") {
    if (flag_of(step, "strip_left", true)) {
      spec_.normalizers.push_back({.kind = NormalizerKind::strip_left});
    }
    if (flag_of(step, "strip_right", true)) {
      spec_.normalizers.push_back({.kind = NormalizerKind::strip_right});
    }
  } else if (type == "BertNormalizer") {
    read_bert_normalizer(step);
  } else if (type == "Precompiled") {
    NormalizerStep charsmap{.kind = NormalizerKind::charsmap, .pattern = "grapheme"};
    if (!append_base64(text_of(step, "precompiled_charsmap"), charsmap.content)) {
      return broken("normalizer: precompiled_charsmap is not base64");
    }
    if (!charsmap.content.empty()) spec_.normalizers.push_back(std::move(charsmap));
  } else {
    return unsupported("normalizer", type);
  }
  return {};
}

// A text or a regular expression.
Status PipelineSteps::read_replace(const JsonElement& step) {
  JsonElement pattern;
  if (step["pattern"].get(pattern)) return broken("normalizer: Replace without a pattern");
  const std::string_view literal = text_of(pattern, "String");
  const std::string_view regex = text_of(pattern, "Regex");
  const std::string_view content = text_of(step, "content");
  if (literal == " " && content == kSpaceMark) {
    replaces_ = true;
    return {};
  }
  if (replaces_ || prepends_) {
    return unsupported("normalizer", "Replace after Prepend or after spaces are replaced");
  }
  if (literal.empty() == regex.empty()) {
    return unsupported("normalizer", "Replace of neither a String nor a Regex");
  }
  spec_.normalizers.push_back(
      {.kind = regex.empty() ? NormalizerKind::replace_text : NormalizerKind::replace_regex,
       .pattern = std::string(regex.empty() ? literal : regex),
       .content = std::string(content)});
  return {};
}

// Prepending ▁ is a flag of the specification, other texts are steps.
Status PipelineSteps::read_prepend(const JsonElement& step) {
  const std::string_view content = text_of(step, "prepend");
  if (content == kSpaceMark && !prepends_) {
    prepends_ = spec_.add_space_prefix = true;
    return {};
  }
  if (prepends_ || replaces_) return unsupported("normalizer", "a second Prepend");
  spec_.normalizers.push_back(
      {.kind = NormalizerKind::prepend, .pattern = {}, .content = std::string(content)});
  return {};
}

void PipelineSteps::read_bert_normalizer(const JsonElement& step) {
  const bool lowercase = flag_of(step, "lowercase", true);
  const std::vector<NormalizerStep> steps =
      bert_normalizers({.clean_text = flag_of(step, "clean_text", true),
                        .space_ideographs = flag_of(step, "handle_chinese_chars", true),
                        .strip_accents = flag_of(step, "strip_accents", lowercase),
                        .lowercase = lowercase});
  spec_.normalizers.insert(spec_.normalizers.end(), steps.begin(), steps.end());
}

// A pre-tokenizer by its type.
Status PipelineSteps::read_split(const JsonElement& step) {
  const std::string_view type = text_of(step, "type");
  if (metaspace_) return unsupported("pre_tokenizer", fmt::format("{} after Metaspace", type));
  if (type == "Metaspace") return read_metaspace(step);
  if (type == "ByteLevel") return read_byte_level(step);
  if (type == "Split") return read_pattern_split(step);
  if (type == "Digits") {
    const bool single = flag_of(step, "individual_digits", false);
    // After ByteLevel the digits of other scripts are bytes already.
    const std::string_view all = single ? patterns::kDigit : patterns::kDigits;
    const std::string_view ascii = single ? "[0-9]" : "[0-9]+";
    return add_split(std::string(form_.byte_level ? ascii : all), SplitBehavior::isolated);
  }
  if (form_.byte_level) {
    return unsupported("pre_tokenizer", fmt::format("{} after ByteLevel", type));
  }
  if (type == "Punctuation") {
    const std::string_view given = text_of(step, "behavior");
    const auto behavior = behavior_named(given.empty() ? "Isolated" : given);
    if (!behavior) return unsupported("pre_tokenizer", given);
    // A run of isolated matches is what Contiguous makes.
    if (*behavior == SplitBehavior::contiguous) {
      return add_split(std::string(patterns::kPunctuation), SplitBehavior::isolated);
    }
    return add_split(std::string(patterns::kPunctuationSign), *behavior);
  }
  if (type == "WhitespaceSplit") return add_split("\\s+", SplitBehavior::removed);
  if (type == "BertPreTokenizer") {
    for (SplitStep& split : bert_splits()) spec_.splits.push_back(std::move(split));
    return {};
  }
  if (type == "Whitespace") {
    TRY(add_split("\\s+", SplitBehavior::removed));
    return add_split(std::string(patterns::kWord), SplitBehavior::isolated);
  }
  if (type == "CharDelimiterSplit") {
    return add_split(escaped(text_of(step, "delimiter")), SplitBehavior::removed);
  }
  return unsupported("pre_tokenizer", type);
}

Status PipelineSteps::add_split(std::string regex, SplitBehavior behavior, bool invert) {
  if (regex.empty()) return unsupported("pre_tokenizer", "a split at nothing");
  spec_.splits.push_back({.regex = std::move(regex), .behavior = behavior, .invert = invert});
  return {};
}

// ByteLevel: GPT-2's pattern if use_regex, and the byte alphabet.
Status PipelineSteps::read_byte_level(const JsonElement& step) {
  if (form_.byte_level) return unsupported("pre_tokenizer", "a second ByteLevel");
  form_.byte_level = true;
  spec_.add_space_prefix = flag_of(step, "add_prefix_space", true);
  if (spec_.add_space_prefix && !spec_.splits.empty()) {
    return unsupported("pre_tokenizer", "ByteLevel with add_prefix_space after another step");
  }
  if (!flag_of(step, "use_regex", true)) return {};
  return add_split(std::string(patterns::kGpt2), SplitBehavior::isolated);
}

Status PipelineSteps::read_pattern_split(const JsonElement& step) {
  JsonElement pattern;
  if (step["pattern"].get(pattern)) return broken("pre_tokenizer: Split without a pattern");
  const std::string_view regex = text_of(pattern, "Regex");
  const std::string_view literal = text_of(pattern, "String");
  const auto behavior = behavior_named(text_of(step, "behavior"));
  if (!behavior) return unsupported("pre_tokenizer", fmt::format("Split at {}{}", regex, literal));
  const bool invert = flag_of(step, "invert", false);
  if (replaces_) {
    // Splitting at spaces that the normalizer has already replaced splits nothing (Gemma).
    if (literal.find(' ') != literal.npos && !invert) return {};
    if (!regex.empty() || literal.find(kSpaceMark) != literal.npos) {
      return unsupported("pre_tokenizer",
                         fmt::format("Split at {}{} after spaces are replaced", regex, literal));
    }
  }
  if (form_.byte_level &&
      !(is_ascii(regex) && is_ascii(literal) && regex.find_first_of("\\.^") == regex.npos)) {
    return unsupported("pre_tokenizer",
                       fmt::format("Split at {}{} after ByteLevel", regex, literal));
  }
  return add_split(regex.empty() ? escaped(literal) : std::string(regex), *behavior, invert);
}

// Metaspace: ▁ for spaces, with its three schemes for the first one.
Status PipelineSteps::read_metaspace(const JsonElement& step) {
  const std::string_view replacement = text_of(step, "replacement");
  if (!replacement.empty() && replacement != kSpaceMark) {
    return unsupported("pre_tokenizer", "Metaspace with another replacement than U+2581");
  }
  std::string_view scheme = text_of(step, "prepend_scheme");
  if (scheme.empty()) scheme = flag_of(step, "add_prefix_space", true) ? "always" : "never";
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    return unsupported("pre_tokenizer", scheme);
  }
  if (form_.byte_level) return unsupported("pre_tokenizer", "Metaspace after ByteLevel");
  metaspace_ = true;
  spec_.add_space_prefix = spec_.add_space_prefix || scheme != "never";
  spec_.prefix_if_missing = true;
  spec_.prefix_first_only = scheme == "first";
  spec_.prefix_each_word = scheme == "always" && !spec_.splits.empty();
  spec_.split_at_spaces = flag_of(step, "split", true);
  return {};
}

// The name of the splits, by which a GGUF file can say them.
void PipelineSteps::find_pre() {
  if (!form_.byte_level) return;
  std::vector<std::string> regexes;
  for (const SplitStep& step : spec_.splits) {
    // What is not matched does not exist where the pattern matches every character.
    const bool isolates = step.behavior == SplitBehavior::isolated && !step.invert;
    const bool keeps_matches = step.behavior == SplitBehavior::removed && step.invert;
    if (!isolates && !keeps_matches) return;
    regexes.push_back(step.regex);
    if (step.regex == "[0-9]+") regexes.back() = patterns::kDigits;
  }
  if (const auto scheme = find_scheme(regexes)) spec_.pre = *scheme;
}

// The decoder must undo exactly what the steps do.
Status PipelineSteps::check_decoder() {
  const std::vector<JsonElement> steps = steps_of(root_, "decoder", "decoders");
  if (steps.empty()) return {};
  const std::string_view type = text_of(steps.front(), "type");
  switch (spec_.kind) {
    case TokenizerKind::byte_bpe:
      if (steps.size() == 1 && type == "ByteLevel") return {};
      break;
    case TokenizerKind::wordpiece: {
      const std::string_view prefix = text_of(steps.front(), "prefix");
      spec_.cleanup_spaces = flag_of(steps.front(), "cleanup", true);
      if (steps.size() == 1 && type == "WordPiece" && prefix == spec_.continuing_prefix) return {};
      break;
    }
    case TokenizerKind::unigram:
      // Multilingual Model2Vec files. The packages would show ▁ and a space; here it is the space.
      if (steps.size() == 1 && type == "WordPiece") return {};
      return check_piece_decoders(steps);
    default:
      return check_piece_decoders(steps);
  }
  return unsupported("decoder", type);
}

Status PipelineSteps::check_piece_decoders(const std::vector<JsonElement>& steps) {
  bool drops_space = false;
  for (const JsonElement& step : steps) {
    const std::string_view type = text_of(step, "type");
    if (type == "ByteFallback" || type == "Fuse") continue;
    JsonElement pattern;
    const bool has_pattern = !step["pattern"].get(pattern);
    if (type == "Metaspace") {
      std::string_view scheme = text_of(step, "prepend_scheme");
      if (scheme.empty()) scheme = flag_of(step, "add_prefix_space", true) ? "always" : "never";
      drops_space = drops_space || scheme != "never";
    } else if (type == "Replace" && has_pattern && text_of(pattern, "String") == kSpaceMark &&
               text_of(step, "content") == " ") {
      continue;
    } else if (type == "Strip" && text_of(step, "content") == " " &&
               member<int64_t>(step, "stop").value_or(0) == 0) {
      drops_space = drops_space || member<int64_t>(step, "start").value_or(0) == 1;
    } else {
      return unsupported("decoder", type);
    }
  }
  if (drops_space == spec_.add_space_prefix) return {};
  return unsupported("decoder", drops_space ? "a first space dropped that encoding does not add"
                                            : "a first space kept that encoding adds");
}

}  // namespace ruv
