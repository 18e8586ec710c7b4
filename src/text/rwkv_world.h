// RwkvWorld: the tokenizer of RWKV's World models. From left to right it always takes the longest
// token, over the bytes of the whole text, without words. Id 0 ends a text and has no bytes. Where
// no token contains two neighbouring bytes, a token must end between them; the stretches between
// such places are cached like words.
#pragma once

#include <array>

#include "text/prefix_table.h"
#include "text/section_tokenizer.h"
#include "text/word_memo.h"

namespace ruv {

class RwkvWorld final : public SectionTokenizer {
 public:
  // Fails: unsupported (tokens that are not raw). Requires: the tables of `spec` agree in size.
  static Result<std::shared_ptr<const Tokenizer>> create(TokenizerSpec spec);

  void append_bytes(Token id, bool with_special, std::string& out) const override;

 protected:
  void encode_section(std::string_view text, Before before, TokenSink& sink) const override;

 private:
  explicit RwkvWorld(TokenizerSpec spec);
  bool may_join(char left, char right) const {
    const auto a = static_cast<uint8_t>(left);
    const auto b = static_cast<uint8_t>(right);
    return joins_[a][b >> 6] >> (b & 63) & 1;
  }
  // Sends the tokens of text[begin, end). Requires: no token crosses either end.
  void encode_word(std::string_view text, size_t begin, size_t end, TokenSink& sink) const;
  void encode_known_word(std::string_view text, size_t begin, size_t end, WordMemo& memo,
                         TokenSink& sink) const;

  PrefixTable table_;
  // Bit b of joins_[a]: some token contains byte a followed by byte b. Between other bytes a token
  // always ends.
  std::array<std::array<uint64_t, 4>, 256> joins_{};
  mutable Pool<WordMemo> memos_;
};

}  // namespace ruv
