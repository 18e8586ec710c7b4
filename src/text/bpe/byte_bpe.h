// ByteBpe: GPT-2's tokenizer (Sennrich et al., 2016; Radford et al., 2019). The pre-tokenizer cuts
// a text into words; the bytes of each word are joined by ranked merges. Every byte has a token, so
// nothing is unknown, except with vocabularies learned from text only (see lost_).
//
// Vocabularies with a word end (CLIP) have two tokens for a byte, one of them for the last byte of
// a word. Here the end is one more byte after each word, 0xFF, which no character has, and the
// first merges join it with the byte before it.
#pragma once

#include <array>
#include <memory>

#include "text/bpe/bpe_core.h"
#include "text/section_tokenizer.h"
#include "text/split/pre_tokenizer.h"

namespace ruv {

class ByteBpe final : public SectionTokenizer {
 public:
  // Fails: corrupt (a merge names a text that is not a token), unsupported (scheme; a byte that has
  // no token for the end of a word). Requires: the tables of `spec` agree in size.
  static Result<std::shared_ptr<const Tokenizer>> create(TokenizerSpec spec);

  void append_bytes(Token id, bool with_special, std::string& out) const override;
  void append_all(std::span<const Token> ids, bool with_special, std::string& out) const override;

 protected:
  void encode_section(std::string_view text, Before before, TokenSink& sink) const override;

 private:
  ByteBpe(TokenizerSpec spec, PreTokenizer pre_tokenizer);
  void encode_spaced_section(std::string_view text, TokenSink& sink) const;
  void encode_plain_section(std::string_view text, TokenSink& sink) const;
  void encode_ended_words(std::string_view text, TokenSink& sink) const;
  void find_lost_bytes(const Vocabulary& vocabulary);

  PreTokenizer pre_tokenizer_;
  // Bytes that occur in no character and have no token, in vocabularies learned from text only.
  // They are encoded as U+FFFD; otherwise they would vanish.
  std::array<bool, 256> lost_{};
  bool loses_bytes_ = false;
  std::unique_ptr<BpeCore> core_;
};

}  // namespace ruv
