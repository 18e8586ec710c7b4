// SentencePieceBpe: merges over characters with ▁ for the space (Kudo and Richardson, 2018). Which
// pair merges first is decided by the score of the result, as in a SentencePiece model, or by a
// list of merges, as in a tokenizer.json; characters without a token become byte tokens.
#pragma once

#include <array>

#include "text/bpe/pair_table.h"
#include "text/section_tokenizer.h"

namespace ruv {

class SentencePieceBpe final : public SectionTokenizer {
 public:
  // Fails: corrupt (scores, merges). Requires: the tables of `spec` agree in size.
  static Result<std::shared_ptr<const Tokenizer>> create(TokenizerSpec spec);

  std::string token_bytes(Token id, bool with_special) const override;

 protected:
  void encode_section(std::string_view text, Before before, TokenSink& sink) const override;

 private:
  explicit SentencePieceBpe(TokenizerSpec spec);
  Status rank_by_score();
  bool wants_prefix(std::string_view text, Before before) const;
  std::string with_visible_spaces(std::string_view text, Before before) const;
  void encode_word(std::string_view word, SymbolMerger& merger, TokenSink& sink) const;
  void append_characters(std::string_view word, std::vector<Symbol>& symbols) const;
  void append_ids(std::string_view word, const Symbol& symbol, TokenSink& sink) const;

  TokenIndex pieces_;            // texts that merges may make
  std::vector<uint32_t> ranks_;  // by id: lower merges first; empty when pairs_ decides
  PairTable pairs_;
  std::array<Token, 256> byte_tokens_{};  // -1 where missing
};

}  // namespace ruv
