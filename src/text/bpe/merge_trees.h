// MergeTrees: which tokens merging can make, out of which two parts each, and whether two tokens
// may be neighbours. A sequence of tokens is the one that merging gives exactly when each token is
// made by merges whose ranks never fall and no merge crosses a boundary of two neighbours while
// both grow (after Berglund and van der Merwe, "Formalizing BPE tokenization", 2023). Tokens are
// looked at when they are first asked for, since a text meets few of a vocabulary.
#pragma once

#include <memory>

#include "text/bpe/pair_table.h"
#include "text/bpe/vocabulary.h"

namespace ruv {

// What a text is made of before the first merge.
enum class BpeSymbols : uint8_t { bytes, characters };

class MergeTrees {
 public:
  // Which merges there are and their order: those of a table, or all whose result is a token.
  struct Rules {
    bool by_text = false;
    PairTable pairs;              // when not by_text
    std::vector<uint32_t> ranks;  // by_text: by the id of the result; empty: the id
  };

  MergeTrees() = default;
  // `vocabulary` outlives it. Requires: its tables are made.
  MergeTrees(const Vocabulary& vocabulary, BpeSymbols symbols, Rules rules);

  // How two neighbours merge. By_text, they must be findable tokens or joined texts.
  Merge find(Token left, Token right) const {
    return rules_.by_text ? find_joined(left, right) : rules_.pairs.find(left, right);
  }
  const Rules& rules() const { return rules_; }
  uint32_t rank_of_result(Token id) const {
    return rules_.ranks.empty() ? static_cast<uint32_t>(id) : rules_.ranks[static_cast<size_t>(id)];
  }

  // Merging the text of `id` gives `id`, by merges whose ranks never fall. False also for the few
  // tokens of odd vocabularies that are made otherwise.
  bool is_made(Token id) const {
    const uint32_t known = state(id);
    return known == kUnknown ? settle(id) : known != kNever;
  }
  // No merge crosses from `left` to `right` when their texts stand side by side. Requires: both
  // are made.
  bool may_meet(Token left, Token right) const { return may_meet(left, right, false); }

 private:
  enum State : uint32_t { kUnknown, kSymbol, kMade, kNever };
  // The last merge of a token; written before `state`, by any thread, always the same.
  struct alignas(32) Tree {
    WordKey key;  // of the text, when by_text
    std::atomic<Token> left{-1};
    std::atomic<Token> right{-1};
    std::atomic<uint32_t> rank{0};  // of the merge, plus 1; 0 for symbols
    std::atomic<uint32_t> state{kUnknown};
  };
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
  // made_together: whether merging the two is the last merge of both texts side by side.
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
  // Not by_text: the next merge with the same result, 0 for none, by index in the table; empty when
  // each token is made by one merge only.
  std::vector<uint32_t> next_same_;
  std::vector<uint32_t> first_merge_;  // by id: index in the table + 1
};

}  // namespace ruv
