// SentencePieceBpe: merges over characters, with ▁ for the space (Kudo and Richardson, 2018). The
// pair that merges first is decided by the score of the result, as in a SentencePiece model, or by
// a list of merges, as in a tokenizer.json. Characters without a token become byte tokens.
//
// SentencePiece has no pre-tokenizer: the whole text is one word. Two measures make words of it.
// Internally ▁ is a space, so that texts are scanned without being rewritten. And a text is cut
// between neighbouring bytes that no token contains in this order (cuts_), which is mostly before
// spaces; such words are encoded and cached like those of ByteBpe.
#pragma once

#include <array>
#include <memory>

#include "text/bpe/bpe_core.h"
#include "text/section_tokenizer.h"

namespace ruv {

class SentencePieceBpe final : public SectionTokenizer {
 public:
  // Fails: corrupt (scores, merges). Requires: the tables of `spec` agree in size.
  static Result<std::shared_ptr<const Tokenizer>> create(TokenizerSpec spec);

  void append_bytes(Token id, bool with_special, std::string& out) const override;
  void append_all(std::span<const Token> ids, bool with_special, std::string& out) const override;

 protected:
  void encode_section(std::string_view text, Before before, TokenSink& sink) const override;

 private:
  explicit SentencePieceBpe(TokenizerSpec spec);
  Vocabulary read_vocabulary(BpeCore::Options& options);
  void find_cuts(const Vocabulary& vocabulary);
  bool wants_prefix(std::string_view text, Before before) const;
  void encode_words(std::string_view text, BpeCore::Scratch& scratch, TokenSink& sink) const;
  void encode_changed(std::string_view text, Before before, BpeCore::Scratch& scratch,
                      TokenSink& sink) const;
  bool next_words(std::string_view text, size_t& at, std::vector<Word>& words) const;
  uint64_t cuts_before(const char* text, size_t n) const;
  // Index in cuts_ of the byte at `at` and the one before.
  static size_t pair_of(const char* at) {
    return static_cast<size_t>(static_cast<uint8_t>(at[-1])) * 256 + static_cast<uint8_t>(*at);
  }

  std::unique_ptr<BpeCore> core_;
  std::array<uint8_t, 256 * 256> cuts_{};  // by neighbouring bytes: 1 when no token has both
};

}  // namespace ruv
