// Unigram: the most probable pieces of a text (Kudo, 2018), by Viterbi over its characters, with ▁
// for the space. Two packages disagree on the arithmetic, and so on ties: tokenizer.json's adds
// doubles from the beginning of each word, sentencepiece adds floats from the beginning of the
// text and begins again at 0 where the sum is too low. A specification that cuts words
// (split_at_spaces, prefix_each_word, splits) means the first. For the second the pieces of a word
// are kept with how far the best way leads, so that only words that rounding could decide are
// computed again where they stand.
#pragma once

#include <array>

#include "text/prefix_table.h"
#include "text/section_tokenizer.h"
#include "text/split/pre_tokenizer.h"
#include "text/word_memo.h"

namespace ruv {

class Unigram final : public SectionTokenizer {
 public:
  // Fails: corrupt (scores), or as PreTokenizer::create. Requires: the tables of `spec` agree.
  static Result<std::shared_ptr<const Tokenizer>> create(TokenizerSpec spec);

  void append_bytes(Token id, bool with_special, std::string& out) const override;

 protected:
  void encode_section(std::string_view text, Before before, TokenSink& sink) const override;

 private:
  struct PiecesFound;
  // The best way to a place in a word.
  template <class Score>
  struct Place {
    Score score = 0;
    uint32_t begin = 0;
    Token id = -1;  // -2: an unknown character
  };
  struct Piece {
    Token id;  // -2: unknown characters
    uint32_t size;
  };
  struct Scratch {
    WordMemo memo;
    std::vector<Place<double>> places;
    std::vector<Place<float>> float_places;
    std::vector<double> seconds;  // to each of `places`, the best of the other ways
    std::vector<Piece> pieces;
    std::string word;            // with ▁, and kPadding zeros
    std::vector<uint32_t> from;  // from[i]: which byte of the text byte i of `word` comes from
    float total = 0;             // score of all before, as sentencepiece adds it
    bool after_unknown = false;
    // Gives back what only a very long word needs.
    void trim();
  };

  explicit Unigram(TokenizerSpec spec);
  Status read_scores();
  void read_pieces();
  void encode_words(std::string_view text, bool prefix, Scratch& scratch, TokenSink& sink) const;
  void encode_spaceless(std::string_view text, Scratch& scratch, TokenSink& sink) const;
  void encode_with_marks(std::string_view text, bool prefix, Scratch& scratch,
                         TokenSink& sink) const;
  void encode_word(std::string_view text, size_t begin, size_t end, bool prefix, Scratch& scratch,
                   TokenSink& sink) const;
  void encode_visible(Scratch& scratch, size_t begin, size_t end, TokenSink& sink) const;
  void encode_splits(std::string_view text, Scratch& scratch, TokenSink& sink) const;
  bool wants_prefix(std::string_view text, Before before) const;
  bool may_cut(uint8_t byte_before) const { return !joins_space_[byte_before]; }
  // Of the first n bytes of `padded`; those behind are not looked at but make reading faster.
  // `seconds` may be null.
  template <class Score>
  void find_best(std::string_view padded, size_t n, Score start, std::vector<Place<Score>>& places,
                 std::vector<double>* seconds) const;
  template <class Score>
  void trace(const std::vector<Place<Score>>& places, std::vector<Piece>& pieces) const;
  uint16_t safe_total(const Scratch& scratch, std::string_view word) const;
  void add_total(std::span<const Token> ids, Scratch& scratch) const;
  void remember(const WordMemo::Key& key, Scratch& scratch, uint16_t note) const;
  void send(std::string_view word, std::span<const uint32_t> from, Scratch& scratch,
            TokenSink& sink) const;

  bool adds_floats_ = false;  // as sentencepiece does
  std::optional<PreTokenizer> pre_tokenizer_;
  bool splits_at_white_space_ = false;
  PrefixTable pieces_;
  size_t longest_ = 0;          // bytes of the longest piece
  std::vector<double> scores_;  // by id
  double unknown_score_ = 0;
  std::array<Token, 256> byte_tokens_{};
  bool has_byte_tokens_ = false;
  std::array<bool, 256> joins_space_{};  // bytes that stand before a ▁ inside a piece
  std::vector<uint32_t> raw_sizes_;      // bytes of a piece where ▁ counts as a space
  mutable Pool<Scratch> scratches_;
};

}  // namespace ruv
