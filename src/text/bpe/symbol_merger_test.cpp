#include "text/bpe/symbol_merger.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "text/bpe/pair_table.h"

namespace ruv {
namespace {

std::vector<Token> ids_of(const std::vector<Symbol>& symbols) {
  std::vector<Token> ids;
  for (const Symbol& s : symbols) ids.push_back(s.id);
  return ids;
}

// Both ways must take the same merges in the same order.
TEST(SymbolMerger, ListAndArrayAgree) {
  Rng rng(11);
  for (int round = 0; round < 300; ++round) {
    const auto n_letters = static_cast<Token>(1 + rng.below(4));
    PairTable pairs(64);
    Token next = n_letters;
    for (uint32_t rank = 0; rank < 40; ++rank) {
      const auto side = [&] { return static_cast<Token>(rng.below(static_cast<uint64_t>(next))); };
      const Token left = side();
      const Token right = side();
      if (pairs.find(left, right).id >= 0) continue;
      pairs.add(left, right, {rank, next++});
    }
    std::vector<Symbol> symbols;
    for (uint32_t i = 0; i < 1 + rng.below(200); ++i) {
      symbols.push_back(
          {i, i + 1, static_cast<Token>(rng.below(static_cast<uint64_t>(n_letters)))});
    }
    const auto lookup = [&](const Symbol& a, const Symbol& b) { return pairs.find(a.id, b.id); };
    std::vector<Symbol> other = symbols;
    SymbolMerger merger;
    merger.merge_short(symbols, lookup);
    merger.merge_long(other, lookup);
    EXPECT_EQ(ids_of(symbols), ids_of(other));
    for (size_t i = 1; i < other.size(); ++i) EXPECT_EQ(other[i].begin, other[i - 1].end);
  }
}

TEST(SymbolMerger, EqualRanksMergeLeftmostFirst) {
  PairTable pairs(1);
  pairs.add(0, 0, {0, 1});
  std::vector<Symbol> symbols = {{0, 1, 0}, {1, 2, 0}, {2, 3, 0}};
  const auto lookup = [&](const Symbol& a, const Symbol& b) { return pairs.find(a.id, b.id); };
  SymbolMerger().merge_long(symbols, lookup);
  EXPECT_EQ(ids_of(symbols), (std::vector<Token>{1, 0}));
}

TEST(PairTable, NegativeIdsNeverMerge) {
  PairTable pairs(1);
  pairs.add(1, 2, {0, 3});
  EXPECT_EQ(pairs.find(1, 2).id, 3);
  EXPECT_EQ(pairs.find(2, 1).rank, kNoMerge);
  EXPECT_EQ(pairs.find(-1, -1).rank, kNoMerge);
}

}  // namespace
}  // namespace ruv
