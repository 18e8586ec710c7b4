// TokenPrefixes: the tokens that a model may write as plain text, ordered by their bytes. The
// tokens that begin with a given text are one range, found by two binary searches.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace ruv {

class TokenPrefixes {
 public:
  // Leaves out control, unknown and unused tokens, tokens that end an answer, and tokens without
  // bytes. O(n log n) for n tokens; takes about 4 bytes a token besides the texts. Immutable
  // afterwards.
  explicit TokenPrefixes(const Tokenizer& tokenizer);

  // The bytes of a token, empty if it was left out. Requires: 0 <= id < vocab_size.
  std::string_view bytes(Token id) const;
  bool contains(Token id) const { return !bytes(id).empty(); }
  // Tokens whose bytes begin with `text`, those equal to it first. Ids ascend among equal bytes.
  std::span<const Token> beginning_with(std::string_view text) const;
  std::span<const Token> equal_to(std::string_view text) const;
  // Tokens that begin with `text` and are longer.
  std::span<const Token> longer_than(std::string_view text) const {
    return beginning_with(text).subspan(equal_to(text).size());
  }
  // Bytes of the longest token.
  size_t longest() const { return longest_; }

 private:
  std::string texts_;
  std::vector<uint32_t> ends_;  // of the text of each id in texts_
  std::vector<Token> order_;
  size_t longest_ = 0;
};

}  // namespace ruv
