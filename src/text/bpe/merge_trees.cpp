// Ranks here are one higher than those of merges, so that symbols have rank 0.
#include "text/bpe/merge_trees.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace ruv {

MergeTrees::MergeTrees(const Vocabulary& vocabulary, BpeSymbols symbols, Rules rules)
    : vocabulary_(&vocabulary),
      symbols_(symbols),
      rules_(std::move(rules)),
      trees_(std::make_unique<Tree[]>(vocabulary.size())) {
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<Token>(i);
    const std::string_view text = vocabulary.text(id);
    if (text.empty() || text.size() > 4) continue;
    const bool one =
        symbols == BpeSymbols::bytes ? text.size() == 1 : decode_utf8(text, 0).size == text.size();
    if (one && vocabulary.find(text) == id) trees_[i].state = kSymbol;
  }
  if (!rules_.by_text) link_merges();
}

void MergeTrees::link_merges() {
  const std::span<const PairTable::Entry> merges = rules_.pairs.entries();
  first_merge_.resize(vocabulary_->size());
  std::vector<uint32_t> last;
  for (size_t i = 0; i < merges.size(); ++i) {
    uint32_t& first = first_merge_[static_cast<size_t>(merges[i].merge.id)];
    const auto index = static_cast<uint32_t>(i + 1);
    if (first == 0) {
      first = index;
      if (!last.empty()) last[static_cast<size_t>(merges[i].merge.id)] = index;
      continue;
    }
    if (next_same_.empty()) {
      next_same_.resize(merges.size() + 1);
      last = first_merge_;
    }
    uint32_t& end = last[static_cast<size_t>(merges[i].merge.id)];
    next_same_[end] = index;
    end = index;
  }
}

Merge MergeTrees::find_joined(Token left, Token right) const {
  if ((left | right) < 0) return {};
  const std::string_view a = vocabulary_->text(left);
  const std::string_view b = vocabulary_->text(right);
  const size_t n = a.size() + b.size();
  if (n > vocabulary_->longest()) return {};
  if (n > Vocabulary::kMaxBeginning) {
    const Token id = vocabulary_->find(std::string(a).append(b));
    return id < 0 ? Merge{} : Merge{rank_of_result(id), id};
  }
  std::array<char, Vocabulary::kMaxBeginning + Vocabulary::kPadding + 8> joined;
  if (n <= WordKey::kShort) {
    std::memcpy(joined.data(), a.data(), 16);
    std::memcpy(joined.data() + a.size(), b.data(), 16);
  } else {
    std::memcpy(joined.data(), a.data(), a.size());
    std::memcpy(joined.data() + a.size(), b.data(), b.size());
    std::memset(joined.data() + n, 0, 8);
  }
  const WordKey key = padded_key(joined.data(), n);
  const uint64_t hash = hash_of(key);
  if (!vocabulary_->may_be_token(hash)) return {};
  const Vocabulary::Entry* entry = vocabulary_->find(key, hash, joined.data());
  return entry == nullptr ? Merge{} : Merge{rank_of_result(entry->id), entry->id};
}

// Goes back in time: the later made of the two neighbours is taken apart, and each pair that once
// stood at the boundary is asked whether it would have merged before one of them did otherwise. Of
// equal ranks the left merges first: the pair comes after the left one's own merge but before the
// right one's.
bool MergeTrees::may_meet(Token left, Token right, uint32_t limit) const {
  uint32_t left_ends = limit;  // rank at which `left` merges into its own token
  uint32_t right_ends = limit;
  for (;;) {
    const uint32_t crossing = find(left, right).rank;
    if (crossing != kNoMerge && crossing + 1 < left_ends && crossing + 1 <= right_ends) {
      return false;
    }
    const uint32_t left_rank = rank(left);
    const uint32_t right_rank = rank(right);
    if ((left_rank | right_rank) == 0) return true;
    if (left_rank > right_rank) {
      left_ends = left_rank;
      left = right_of(left);
    } else {
      right_ends = right_rank;
      right = left_of(right);
    }
  }
}

void MergeTrees::splits_of(Token id, std::vector<Split>& splits) const {
  splits.clear();
  const std::string_view text = vocabulary_->text(id);
  const bool by_characters = symbols_ == BpeSymbols::characters;
  if (by_characters && !is_valid_utf8(text)) return;
  const auto cuts_a_character = [&](size_t at) {
    return by_characters && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80;
  };
  if (!rules_.by_text) {
    for (uint32_t i = first_merge_[static_cast<size_t>(id)]; i != 0;) {
      const PairTable::Entry& merge = rules_.pairs.entries()[i - 1];
      if (!cuts_a_character(vocabulary_->length(merge.left))) {
        splits.push_back({merge.left, merge.right, merge.merge.rank + 1});
      }
      i = next_same_.empty() ? 0 : next_same_[i];
    }
    return;
  }
  const uint32_t rank = rank_of_result(id) + 1;
  if (text.size() > Vocabulary::kMaxBeginning || vocabulary_->find(text) != id) return;
  for (size_t cut = 1; cut < text.size(); ++cut) {
    const Token left = cuts_a_character(cut) ? -1 : vocabulary_->find(text.substr(0, cut));
    if (left < 0) continue;
    const Token right = vocabulary_->find(text.substr(cut));
    if (right >= 0) splits.push_back({left, right, rank});
  }
}

// Parts are shorter than what they make, so the walk ends.
bool MergeTrees::settle(Token id) const {
  std::vector<Token> open = {id};
  std::vector<Split> splits;
  while (!open.empty()) {
    const Token top = open.back();
    if (trees_[static_cast<size_t>(top)].state.load(std::memory_order_acquire) != kUnknown) {
      open.pop_back();
      continue;
    }
    splits_of(top, splits);
    const size_t n_before = open.size();
    for (const Split& split : splits) {
      for (const Token part : {split.left, split.right}) {
        const Tree& tree = trees_[static_cast<size_t>(part)];
        if (tree.state.load(std::memory_order_acquire) == kUnknown) open.push_back(part);
      }
    }
    if (open.size() > n_before) continue;
    settle_one(top, splits);
    open.pop_back();
  }
  return trees_[static_cast<size_t>(id)].state.load(std::memory_order_acquire) != kNever;
}

void MergeTrees::settle_one(Token id, std::span<const Split> splits) const {
  Tree& tree = trees_[static_cast<size_t>(id)];
  const auto is_never = [&](Token part) {
    return trees_[static_cast<size_t>(part)].state.load(std::memory_order_acquire) == kNever;
  };
  for (const Split& split : splits) {
    if (is_never(split.left) || is_never(split.right)) continue;
    if (rank(split.left) >= split.rank || rank(split.right) >= split.rank) continue;
    if (!may_meet(split.left, split.right, split.rank)) continue;
    tree.left.store(split.left, std::memory_order_relaxed);
    tree.right.store(split.right, std::memory_order_relaxed);
    tree.rank.store(split.rank, std::memory_order_relaxed);
    tree.state.store(kMade, std::memory_order_release);
    return;
  }
  tree.state.store(kNever, std::memory_order_release);
}

}  // namespace ruv
