// IncrementalEncoder: the ids of a prompt that grows, as in a chat. Sections between added tokens
// that are unchanged since the previous prompt are not encoded again, so a turn costs time in
// proportion to its new text. The ids always equal those of encode_parts. A text without added
// tokens is one section and gains nothing.
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
  // How many ids of the last call were reused from the prompt before it.
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
