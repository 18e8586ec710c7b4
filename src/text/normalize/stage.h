// The stages that Normalizer runs one after another. Each turns a text into another and is
// immutable.
#pragma once

#include <memory>

#include "text/normalize/normalizer.h"

namespace ruv {

class NormalizerStage {
 public:
  virtual ~NormalizerStage() = default;
  // False: apply would surely not change `text`. Cheap; true proves nothing.
  virtual bool may_change(std::string_view text) const = 0;
  // Requires: `out` is empty. Its origins count in `text`.
  virtual void apply(std::string_view text, bool with_origin, NormalizedText& out) const = 0;
};

using StagePtr = std::shared_ptr<const NormalizerStage>;

// A text under construction.
class TextBuilder {
 public:
  TextBuilder(NormalizedText& out, bool with_origin) : out_(out), with_origin_(with_origin) {}

  // Appends `bytes`, all made from the character that begins at `origin`.
  void put(std::string_view bytes, size_t origin) {
    out_.text += bytes;
    if (with_origin_) out_.origin.resize(out_.text.size(), static_cast<uint32_t>(origin));
  }
  // Copies text[begin, end); the origin of each byte is the start of its character.
  void copy(std::string_view text, size_t begin, size_t end);
  // Ends the text; `size` is that of the original.
  void finish(size_t size) {
    if (with_origin_) out_.origin.push_back(static_cast<uint32_t>(size));
  }

 private:
  NormalizedText& out_;
  bool with_origin_;
};

// Steps that look at characters and their marks only: normal forms, lowercase, strip_accents,
// clean_text, space_ideographs, nmt. Requires: is_character_step of each.
bool is_character_step(NormalizerKind kind);
StagePtr make_character_stage(std::span<const NormalizerStep> steps);

// strip_left, strip_right, prepend, replace_text, replace_regex. Fails as RegexScanner::create.
Result<StagePtr> make_text_stage(const NormalizerStep& step);

// Fails: corrupt.
Result<StagePtr> make_charsmap_stage(const NormalizerStep& step);

}  // namespace ruv
