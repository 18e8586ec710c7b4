// Unigram: the most probable pieces of a text (Kudo, 2018), with ▁ for the space. Each piece has a
// log-probability; Viterbi over the characters of a word finds the sequence with the largest sum:
// for each place, the best score of any way to it and the piece that ends there.
//
// Ties and near ties depend on arithmetic, and the two reference packages differ. `tokenizers`
// (tokenizer.json) adds doubles from the start of each word. `sentencepiece` adds floats from the
// start of the text, and restarts at 0 when the sum falls below -1e5. A specification that cuts
// words (split_at_spaces, prefix_each_word, splits) selects the first, otherwise the second
// applies.
//
// With running float sums the pieces of a word depend on everything before it, which would forbid
// caching words. So a cached word carries a bound: below this absolute total, rounding cannot
// change its pieces (safe_total). Words beyond their bound are computed again in place, with the
// floats of sentencepiece.
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
  // Working memory of one call, pooled so that later calls find a warm cache.
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
  // Viterbi over the first n bytes of `padded`; the bytes after them are not used but make reading
  // faster. `seconds` may be null.
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
  std::array<bool, 256> joins_space_{};  // bytes that precede a ▁ inside a piece
  std::vector<uint32_t> raw_sizes_;      // bytes of a piece where ▁ counts as a space
  mutable Pool<Scratch> scratches_;
};

}  // namespace ruv
