// MergeTrees: which tokens merging can make, from which two parts, and whether two tokens may be
// neighbours.
//
// BPE is defined by a process: start with the symbols (bytes or characters) of a word, and
// repeatedly merge the neighbouring pair of lowest rank, the leftmost among equals. Simulating that
// costs O(n log n) per word. This class supports a way that never merges: take tokens from left to
// right and test each against its neighbour, which is exact because of the following (after
// Berglund and van der Merwe, "Formalizing BPE tokenization", 2023).
//
//   * A token that the process can produce is made by one last merge of two tokens, which were made
//     in the same manner: a binary tree over its symbols. Its rank is that of the last merge, which
//     must not be lower than those of its parts. settle() finds the tree of a token; is_made() says
//     whether there is one.
//   * A sequence of such tokens is the result of the process exactly when no two neighbours would
//     have merged across their boundary while both were still growing. may_meet() tests that for
//     two tokens by undoing their merges, the latest first, and looking up the pair of parts that
//     met at the boundary at each moment.
//
// A test walks down the right edge of the left tree and the left edge of the right one, a few steps
// in practice. Trees are found on first use, since a text meets few tokens of a vocabulary and
// loading should be fast. Threads may find the same tree at once: they write equal values, and
// `state` is written last.
#pragma once

#include <memory>

#include "text/bpe/pair_table.h"
#include "text/bpe/vocabulary.h"

namespace ruv {

// The symbols that a text consists of before the first merge.
enum class BpeSymbols : uint8_t { bytes, characters };

class MergeTrees {
 public:
  // Which merges there are and their order: those of a table, or (by_text, as in tiktoken and
  // SentencePiece) all pairs whose joined text is a token, ranked by that token.
  struct Rules {
    bool by_text = false;
    PairTable pairs;              // when not by_text
    std::vector<uint32_t> ranks;  // by_text: by the id of the result; empty: the id
  };

  MergeTrees() = default;
  // `vocabulary` must outlive this object. Requires: its tables are made (finish()).
  MergeTrees(const Vocabulary& vocabulary, BpeSymbols symbols, Rules rules);

  // How two neighbours merge. With by_text both must be tokens that the vocabulary finds, or joined
  // texts.
  Merge find(Token left, Token right) const {
    return rules_.by_text ? find_joined(left, right) : rules_.pairs.find(left, right);
  }
  const Rules& rules() const { return rules_; }
  uint32_t rank_of_result(Token id) const {
    return rules_.ranks.empty() ? static_cast<uint32_t>(id) : rules_.ranks[static_cast<size_t>(id)];
  }

  // Whether merging the text of `id` gives `id`, by merges whose ranks never fall. False also for
  // the few tokens of odd vocabularies that are made in another way; words with those are left to
  // merging.
  bool is_made(Token id) const {
    const uint32_t known = state(id);
    return known == kUnknown ? settle(id) : known != kNever;
  }
  // Whether `left` and `right`, side by side, stay two tokens: no merge crosses their boundary.
  // Requires: is_made of both.
  bool may_meet(Token left, Token right) const { return may_meet(left, right, false); }

 private:
  enum State : uint32_t { kUnknown, kSymbol, kMade, kNever };
  // The last merge of a token. Written before `state`, possibly by several threads, always with the
  // same values.
  struct alignas(32) Tree {
    WordKey key;  // of the text, when by_text
    std::atomic<Token> left{-1};
    std::atomic<Token> right{-1};
    std::atomic<uint32_t> rank{0};  // of the merge, plus 1; 0 for symbols
    std::atomic<uint32_t> state{kUnknown};
  };
  // A way to make a token: merging `left` and `right` at `rank`.
  struct Split {
    Token left = -1;
    Token right = -1;
    uint32_t rank = 0;
  };

  uint32_t state(Token id) const {
    return trees_[static_cast<size_t>(id)].state.load(std::memory_order_acquire);
  }
  uint32_t rank(Token id) const {
    return trees_[static_cast<size_t>(id)].rank.load(std::memory_order_relaxed);
  }
  Token left_of(Token id) const {
    return trees_[static_cast<size_t>(id)].left.load(std::memory_order_relaxed);
  }
  Token right_of(Token id) const {
    return trees_[static_cast<size_t>(id)].right.load(std::memory_order_relaxed);
  }
  Merge find_joined(Token left, Token right) const;
  Merge merge_into(const Vocabulary::Entry* entry) const;
  // made_together: whether the merge of the two is itself the last merge of both texts side by
  // side; then that pair is not tested.
  bool may_meet(Token left, Token right, bool made_together) const;
  bool settle(Token id) const;
  bool cuts_a_character(std::string_view text, size_t at) const;
  void find_splits(Token id, std::vector<Split>& splits) const;
  void find_splits_by_text(Token id, std::vector<Split>& splits) const;
  void add_unknown_parts(std::span<const Split> splits, std::vector<Token>& open) const;
  void settle_one(Token id, std::span<const Split> splits) const;
  void link_merges();

  const Vocabulary* vocabulary_ = nullptr;
  BpeSymbols symbols_ = BpeSymbols::bytes;
  Rules rules_;
  std::unique_ptr<Tree[]> trees_;
  // Not by_text: the next merge with the same result, 0 for none, by index in the table. Empty when
  // each token is the result of one merge only, as in most vocabularies.
  std::vector<uint32_t> next_same_;
  std::vector<uint32_t> first_merge_;  // by id: index in the table + 1
};

}  // namespace ruv
