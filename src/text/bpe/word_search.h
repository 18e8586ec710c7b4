// WordSearch: the tokens of a word by longest match and backtracking, in time linear in the word.
//
// From left to right, take the longest token that may follow the previous one
// (MergeTrees::may_meet). When none may, give up the previous token, mark the place after it dead,
// and try the next shorter one. This ends in the one valid sequence, which is the result of
// merging: each place is reached by at most one sequence of tokens that may meet, namely the result
// of merging the text before it. A place that leads nowhere therefore never needs to be tried
// again, which makes the search linear. The idea is that of the Rust crate bpe.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "text/bpe/merge_trees.h"
#include "text/bpe/vocabulary.h"

namespace ruv {

// Keeps its buffers between words. Not thread-safe.
class WordSearch {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  // byte_tokens: the tokens of single bytes, -1 where there is none. All arguments must outlive the
  // search.
  WordSearch(const Vocabulary& vocabulary, const MergeTrees& trees, BpeSymbols symbols,
             const std::array<Token, 256>& byte_tokens)
      : vocabulary_(&vocabulary),
        trees_(&trees),
        symbols_(symbols),
        byte_tokens_(byte_tokens.data()),
        beginnings_(Vocabulary::kMaxBeginning) {}

  // Finds the tokens of `text`. Returns how far they reach: text.size(), or the position of a
  // symbol without a token, or kNone when merging makes the word in a way that the trees do not
  // describe (use SymbolMerger then). Requires: Vocabulary::kPadding bytes may be read after the
  // text; with characters, the text is valid UTF-8.
  size_t search(std::string_view text);
  // The tokens found. Valid unless search returned kNone.
  std::span<const Token> tokens() const { return path_; }
  // Frees buffers that a very long word has made large.
  void shrink();

 private:
  Token symbol_at(size_t at) const;
  Token next_token(size_t at, Token last, size_t below);
  bool may_stand(Token last, Token id);
  bool is_dead(size_t at) const { return any_dead_ && ((dead_[at / 64] >> (at % 64)) & 1) != 0; }
  void set_dead(size_t at, size_t size);

  const Vocabulary* vocabulary_;
  const MergeTrees* trees_;
  BpeSymbols symbols_;
  const Token* byte_tokens_;
  std::string_view text_;
  std::vector<Token> path_;
  std::vector<uint64_t> dead_;  // places that lead nowhere
  bool any_dead_ = false;
  std::vector<Vocabulary::Beginning> beginnings_;
  // A lossy cache of may_meet, by a hash of both ids. An entry holds the ids and, in the last bit,
  // the answer.
  static constexpr int kPairBits = 14;
  std::vector<uint64_t> pairs_ = std::vector<uint64_t>(size_t{1} << kPairBits);
};

}  // namespace ruv
