// Ranks in this file are one higher than those of merges, so that symbols have rank 0.
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
    if (rules_.by_text) trees_[i].key = padded_key(text.data(), text.size());
    if (text.empty() || text.size() > 4) continue;
    const bool one =
        symbols == BpeSymbols::bytes ? text.size() == 1 : decode_utf8(text, 0).size == text.size();
    if (one && vocabulary.find(text) == id) trees_[i].state = kSymbol;
  }
  if (!rules_.by_text) link_merges();
}

// Chains the merges with equal results in the order of the table. The chain is allocated only when
// some token has two merges.
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

// Looks up the joined text of two tokens. The keys of short texts are joined by shifts, without
// touching the texts; most pairs are rejected by the vocabulary's filter.
Merge MergeTrees::find_joined(Token left, Token right) const {
  if ((left | right) < 0) return {};
  const WordKey& left_key = trees_[static_cast<size_t>(left)].key;
  const WordKey& right_key = trees_[static_cast<size_t>(right)].key;
  // Long texts have 0xFF for their number.
  if (const size_t n = (left_key.high >> 56) + (right_key.high >> 56); n <= WordKey::kShort) {
    const WordKey key = joined_key(left_key, right_key);
    const uint64_t hash = hash_of(key);
    if (!vocabulary_->may_be_token(key.low, n, hash)) return {};
    // Short keys hold the whole text.
    return merge_into(vocabulary_->find(key, hash, vocabulary_->text(left).data()));
  }
  const std::string_view a = vocabulary_->text(left);
  const std::string_view b = vocabulary_->text(right);
  const size_t n = a.size() + b.size();
  if (n > vocabulary_->longest()) return {};
  std::string joined(a);
  joined += b;
  joined.append(Vocabulary::kPadding, '\0');
  const WordKey key = padded_key(joined.data(), n);
  const uint64_t hash = hash_of(key);
  if (n <= Vocabulary::kMaxBeginning &&
      !vocabulary_->may_be_token(load_word(joined.data()), n, hash)) {
    return {};
  }
  return merge_into(vocabulary_->find(key, hash, joined.data()));
}

Merge MergeTrees::merge_into(const Vocabulary::Entry* entry) const {
  return entry == nullptr ? Merge{} : Merge{rank_of_result(entry->id), entry->id};
}

// Goes back in time. At each step the neighbour that was made later is split, and the pair that met
// at the boundary before that merge is looked up: if it would have merged before one of the two
// merged elsewhere, the two tokens cannot be neighbours. Among equal ranks the leftmost pair merges
// first, so a crossing pair comes after a merge of equal rank inside the left token and before one
// inside the right token.
bool MergeTrees::may_meet(Token left, Token right, bool made_together) const {
  uint32_t left_ends = kNoMerge;  // rank at which `left` merges into its own token
  uint32_t right_ends = kNoMerge;
  for (bool asks = !made_together;; asks = true) {
    const uint32_t crossing = asks ? find(left, right).rank : kNoMerge;
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

bool MergeTrees::cuts_a_character(std::string_view text, size_t at) const {
  return symbols_ == BpeSymbols::characters && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80;
}

// Candidate splits of a token. Characters are never cut, since a text of characters never holds
// half of one.
void MergeTrees::find_splits(Token id, std::vector<Split>& splits) const {
  splits.clear();
  const std::string_view text = vocabulary_->text(id);
  const auto is_ascii = [](char c) { return static_cast<uint8_t>(c) < 0x80; };
  if (symbols_ == BpeSymbols::characters && !std::all_of(text.begin(), text.end(), is_ascii) &&
      !is_valid_utf8(text)) {
    return;
  }
  if (rules_.by_text) return find_splits_by_text(id, splits);
  for (uint32_t i = first_merge_[static_cast<size_t>(id)]; i != 0;) {
    const PairTable::Entry& merge = rules_.pairs.entries()[i - 1];
    if (!cuts_a_character(text, vocabulary_->length(merge.left))) {
      splits.push_back({merge.left, merge.right, merge.merge.rank + 1});
    }
    i = next_same_.empty() ? 0 : next_same_[i];
  }
}

// By text every cut into two tokens is a candidate; all have the rank of the result.
void MergeTrees::find_splits_by_text(Token id, std::vector<Split>& splits) const {
  const std::string_view text = vocabulary_->text(id);
  if (text.size() < 2 || text.size() > Vocabulary::kMaxBeginning) return;
  const uint32_t rank = rank_of_result(id) + 1;
  const WordKey& key = trees_[static_cast<size_t>(id)].key;
  const auto offer = [&](Token left, size_t cut) {
    if (left < 0 || cuts_a_character(text, cut)) return;
    const std::string_view rest = text.substr(cut);
    const WordKey rest_key =
        text.size() <= WordKey::kShort ? tail_key(key, cut) : padded_key(rest.data(), rest.size());
    const uint64_t hash = hash_of(rest_key);
    const uint64_t low = load_word(rest.data());
    if (rest.size() > 1 && !vocabulary_->may_be_token(low, rest.size(), hash)) return;
    const Vocabulary::Entry* right = vocabulary_->find(rest_key, hash, rest.data());
    if (right != nullptr) splits.push_back({left, right->id, rank});
  };
  offer(vocabulary_->find(text.substr(0, 1)), 1);
  std::array<Vocabulary::Beginning, 16> few;
  std::vector<Vocabulary::Beginning> many(text.size() <= few.size() ? 0 : text.size());
  const std::span<Vocabulary::Beginning> lefts = many.empty() ? std::span(few) : std::span(many);
  const size_t n = vocabulary_->beginnings(text.data(), text.size() - 1, lefts.data());
  for (const Vocabulary::Beginning& left : lefts.first(n)) {
    const Vocabulary::Entry* entry = vocabulary_->find(left.key, left.hash, text.data());
    if (entry != nullptr) offer(entry->id, left.size);
  }
}

// Depth first with an explicit stack: tokens of hostile vocabularies can be deep.
bool MergeTrees::settle(Token id) const {
  std::vector<Split> splits;
  splits.reserve(16);
  find_splits(id, splits);
  std::vector<Token> open;
  add_unknown_parts(splits, open);
  // Parts are shorter than what they make, so the walk ends.
  while (!open.empty()) {
    const Token top = open.back();
    const size_t n_before = open.size();
    if (state(top) == kUnknown) {
      find_splits(top, splits);
      add_unknown_parts(splits, open);
      if (open.size() > n_before) continue;
      settle_one(top, splits);
    }
    open.pop_back();
    if (open.empty()) find_splits(id, splits);
  }
  settle_one(id, splits);
  return state(id) != kNever;
}

void MergeTrees::add_unknown_parts(std::span<const Split> splits, std::vector<Token>& open) const {
  for (const Split& split : splits) {
    for (const Token part : {split.left, split.right}) {
      if (state(part) == kUnknown) open.push_back(part);
    }
  }
}

// Takes the first split whose parts are made earlier and would indeed merge last.
void MergeTrees::settle_one(Token id, std::span<const Split> splits) const {
  Tree& tree = trees_[static_cast<size_t>(id)];
  for (const Split& split : splits) {
    if (state(split.left) == kNever || state(split.right) == kNever) continue;
    if (rank(split.left) > split.rank || rank(split.right) > split.rank) continue;
    if (!may_meet(split.left, split.right, true)) continue;
    tree.left.store(split.left, std::memory_order_relaxed);
    tree.right.store(split.right, std::memory_order_relaxed);
    tree.rank.store(split.rank, std::memory_order_relaxed);
    tree.state.store(kMade, std::memory_order_release);
    return;
  }
  tree.state.store(kNever, std::memory_order_release);
}

}  // namespace ruv
