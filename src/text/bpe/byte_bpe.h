// ByteBpe: GPT-2's tokenizer (Sennrich et al., 2016; Radford et al., 2019). Words of the
// pre-tokenizer become bytes; ranked merges join them.
#pragma once

#include <array>

#include "text/bpe/pair_table.h"
#include "text/section_tokenizer.h"
#include "text/split/pre_tokenizer.h"

namespace ruv {

class ByteBpe final : public SectionTokenizer {
 public:
  // Fails: corrupt (a merge names a text that is no token), unsupported (scheme).
  // Requires: the tables of `spec` agree in size.
  static Result<std::shared_ptr<const Tokenizer>> create(TokenizerSpec spec);

  std::string token_bytes(Token id, bool with_special) const override;

 protected:
  void encode_section(std::string_view text, Before before, TokenSink& sink) const override;

 private:
  struct Scratch;
  ByteBpe(TokenizerSpec spec, PreTokenizer pre_tokenizer);
  void encode_word(std::string_view word, Scratch& scratch, TokenSink& sink) const;

  PreTokenizer pre_tokenizer_;
  TokenIndex bytes_;  // what each token adds to a text; only ordinary tokens are found
  std::array<Token, 256> byte_tokens_{};
  PairTable pairs_;
};

}  // namespace ruv
