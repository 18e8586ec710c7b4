// TokenMask: a set of the tokens of a vocabulary, one bit each: which of them may come next. A
// vocabulary of 150,000 tokens takes 19 KB; building and applying a mask touches each word once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenizer.h"

namespace ruv {

class TokenMask {
 public:
  // Empty; n_tokens / 8 bytes, all that it ever allocates.
  explicit TokenMask(int64_t n_tokens)
      : words_(static_cast<size_t>((n_tokens + kWordBits - 1) / kWordBits)) {}

  void clear() { words_.assign(words_.size(), 0); }
  // Requires: ids of the vocabulary.
  void add(Token id) { words_[word_of(id)] |= bit_of(id); }
  void add(std::span<const Token> ids) {
    for (const Token id : ids) add(id);
  }
  // Requires: an id of the vocabulary.
  void remove(Token id) { words_[word_of(id)] &= ~bit_of(id); }
  size_t n_bytes() const { return words_.size() * sizeof(uint64_t); }
  // Requires: a mask of the same vocabulary.
  void add(const TokenMask& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  // Requires: an id of the vocabulary.
  bool has(Token id) const { return (words_[word_of(id)] & bit_of(id)) != 0; }
  // Makes the logits of tokens that are not in the set -infinity. Requires: at most n_tokens
  // logits.
  void apply(std::span<float> logits) const;

 private:
  static constexpr int64_t kWordBits = 64;
  static size_t word_of(Token id) { return static_cast<size_t>(id / kWordBits); }
  static uint64_t bit_of(Token id) { return uint64_t{1} << (id % kWordBits); }

  std::vector<uint64_t> words_;
};

}  // namespace ruv
