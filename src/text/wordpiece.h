// WordPiece: BERT's tokenizer (Schuster and Nakajima, 2012; Devlin et al., 2019). The longest token
// that begins a word is taken, then repeatedly the longest continuing token ("##ing"), to the end
// of the word. A word for which this fails is one unknown token as a whole.
#pragma once

#include <array>

#include "text/prefix_table.h"
#include "text/section_tokenizer.h"
#include "text/split/pre_tokenizer.h"
#include "text/word_memo.h"

namespace ruv {

class WordPiece final : public SectionTokenizer {
 public:
  // Without splits in `spec`, BERT's apply: white space removed, punctuation isolated. Fails: as
  // PreTokenizer::create. Requires: the tables of `spec` agree in size.
  static Result<std::shared_ptr<const Tokenizer>> create(TokenizerSpec spec);

  void append_bytes(Token id, bool with_special, std::string& out) const override;

 protected:
  void encode_section(std::string_view text, Before before, TokenSink& sink) const override;

 private:
  // Working memory of one call, pooled so that later calls find a warm cache.
  struct Scratch {
    WordMemo memo;
    std::vector<Token> ids;
    std::vector<uint32_t> sizes;
  };
  explicit WordPiece(TokenizerSpec spec);
  void encode_bert(std::string_view text, Scratch& scratch, TokenSink& sink) const;
  void encode_word(std::string_view text, size_t begin, size_t end, Scratch& scratch,
                   TokenSink& sink) const;
  // Writes the tokens of text[begin, end) to scratch.ids and their bytes to scratch.sizes.
  void cut_word(std::string_view text, size_t begin, size_t end, Scratch& scratch) const;
  bool is_too_long(std::string_view word) const;

  std::optional<PreTokenizer> pre_tokenizer_;  // none: BERT's
  PrefixTable first_;
  PrefixTable continuing_;
  mutable Pool<Scratch> scratches_;
};

}  // namespace ruv
