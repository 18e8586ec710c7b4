// Normalizer: the steps that a model applies to a text before it is split. A text that no step
// changes, which is nearly all text, is recognised quickly and not copied.
//
// Two kinds of step have a variant, selected by `pattern`. strip_accents with "M" drops all marks,
// as tokenizer.json's StripAccents does; otherwise non-spacing marks, as BERT does. charsmap with
// "grapheme" looks up grapheme clusters, as tokenizer.json's Precompiled does; otherwise the
// longest match, and it turns invalid bytes into U+FFFD, as sentencepiece does.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace ruv {

// A changed text and the origin of its bytes.
struct NormalizedText {
  std::string text;
  // If requested: origin[i] is where the characters that became byte i begin in the original text,
  // ascending; origin[text.size()] is the original's size.
  std::vector<uint32_t> origin;
};

class NormalizerStage;

class Normalizer {
 public:
  Normalizer() = default;
  // Fails: corrupt (charsmap), unsupported (replace_regex with an unsupported expression).
  static Result<Normalizer> create(std::span<const NormalizerStep> steps);

  bool empty() const { return stages_.empty(); }
  // False: apply would surely not change `text`. Cheap; true proves nothing.
  bool may_change(std::string_view text) const;
  // Linear time except for a sort of each run of marks. Invalid bytes are kept, except by
  // sentencepiece's charsmap.
  void apply(std::string_view text, bool with_origin, NormalizedText& out) const;

 private:
  std::vector<std::shared_ptr<const NormalizerStage>> stages_;  // immutable, shared by copies
};

}  // namespace ruv
