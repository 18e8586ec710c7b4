// IncrementalEncoder: the ids of a prompt that grows, as a chat does. Sections between added tokens
// that stand as they stood in the prompt before are not encoded again; the ids are always those of
// encode_parts.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/section_tokenizer.h"

namespace ruv {

// Not thread-safe: one per conversation.
class IncrementalEncoder {
 public:
  // Bytes of the longest prompt that is remembered.
  static constexpr size_t kMaxRemembered = size_t{1} << 25;

  explicit IncrementalEncoder(std::shared_ptr<const Tokenizer> tokenizer);

  // The ids of the prompt, without bos or eos; valid until the next call. Requires: as
  // Tokenizer::encode_parts.
  const std::vector<Token>& encode(std::span<const TextPart> parts);
  // How many of them were taken over from the prompt before.
  size_t n_kept() const { return n_kept_; }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  const SectionTokenizer* sections_of_;  // null: a tokenizer of another kind, which starts anew
  std::string text_;
  std::vector<Section> sections_;
  std::vector<size_t> ends_;  // by section: ids up to its end
  std::vector<Token> ids_;
  size_t n_kept_ = 0;
};

}  // namespace ruv
