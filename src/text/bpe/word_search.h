// WordSearch: the tokens of a word by longest match and backtracking, in time linear in the word.
// Each place is reached by at most one sequence of tokens that may meet, because such a sequence is
// the one that merging gives for the text before it; so a place that leads nowhere is never tried
// twice (the idea of the Rust crate bpe).
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

  // byte_tokens: the tokens of single bytes, -1 where there is none. All outlive it.
  WordSearch(const Vocabulary& vocabulary, const MergeTrees& trees, BpeSymbols symbols,
             const std::array<Token, 256>& byte_tokens)
      : vocabulary_(&vocabulary),
        trees_(&trees),
        symbols_(symbols),
        byte_tokens_(byte_tokens.data()),
        beginnings_(Vocabulary::kMaxBeginning) {}

  // Looks for the tokens of `text`. Returns how far they reach: its size, or less where a symbol
  // without a token stands, or kNone when merging makes the word by ways the trees do not hold
  // (SymbolMerger knows them). Requires: Vocabulary::kPadding bytes may be read behind the text;
  // in characters, the text is valid UTF-8.
  size_t search(std::string_view text);
  // What search found; valid when it did not return kNone.
  std::span<const Token> tokens() const { return path_; }
  // Gives large buffers back.
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
  // Answers about neighbours, by a hash of both: their ids and, in the last bit, whether they may
  // meet. Lossy.
  static constexpr int kPairBits = 14;
  std::vector<uint64_t> pairs_ = std::vector<uint64_t>(size_t{1} << kPairBits);
};

}  // namespace ruv
