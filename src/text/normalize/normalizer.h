// Normalizer: the steps a model applies to a text before it is split. A text that no step changes,
// which is nearly all text, is recognised quickly and not copied.
// Two kinds of step have a variant, chosen by `pattern`: strip_accents with "M" drops all marks, as
// tokenizer.json's StripAccents does, else non-spacing marks, as BERT does; charsmap with
// "grapheme" looks up grapheme clusters as tokenizer.json's Precompiled does, else the longest
// match, as sentencepiece does, and then turns invalid bytes into U+FFFD as sentencepiece does.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace ruv {

// A changed text and where its bytes came from.
struct NormalizedText {
  std::string text;
  // When asked for: origin[i] is where the characters that became byte i begin in the text before,
  // ascending; origin[text.size()] is that text's size.
  std::vector<uint32_t> origin;
};

class NormalizerStage;

class Normalizer {
 public:
  Normalizer() = default;
  // Fails: corrupt (charsmap), unsupported (replace_regex: what our regular expressions lack).
  static Result<Normalizer> create(std::span<const NormalizerStep> steps);

  bool empty() const { return stages_.empty(); }
  // False: surely apply would leave `text` as it is. Cheap.
  bool may_change(std::string_view text) const;
  // Linear time but for a sort of each run of marks. Invalid bytes stay as they are, but for
  // sentencepiece's charsmap.
  void apply(std::string_view text, bool with_origin, NormalizedText& out) const;

 private:
  std::vector<std::shared_ptr<const NormalizerStage>> stages_;  // immutable, shared by copies
};

}  // namespace ruv
