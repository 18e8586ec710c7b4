// Cells of tokens and of rows of media, alone and in the blocks of the tree's nodes.
#include "cache/prefix_cell.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "cache/cell_block.h"
#include "cache/content_cells.h"
#include "fault/allocations.h"

namespace ruv::prefix_cell_test {
namespace {

constexpr HashKey kKey = {1, 2};

TEST(PrefixCell, ARowIsNeverAToken) {
  const Token greatest = std::numeric_limits<Token>::max();
  for (const uint64_t hash : {uint64_t{0}, uint64_t{7}, ~uint64_t{0}}) {
    const PrefixCell row = PrefixCell::of_hash(hash);
    EXPECT_TRUE(row.is_valid());
    EXPECT_GT(row, PrefixCell(greatest));
  }
  EXPECT_TRUE(PrefixCell(greatest).is_valid());
  EXPECT_EQ(PrefixCell(7).bits(), 7U);
  EXPECT_FALSE(PrefixCell::of_bits(uint64_t{1} << 31).is_valid());
  EXPECT_FALSE(PrefixCell::of_bits((uint64_t{1} << 63) - 1).is_valid());
}

TEST(PrefixCell, TokensBecomeCellsInPlace) {
  std::vector<PrefixCell> cells(5, PrefixCell(9));
  set_cells(std::vector<Token>{3, 1, 4}, cells);
  EXPECT_EQ(cells, (std::vector{PrefixCell(3), PrefixCell(1), PrefixCell(4)}));
}

TEST(ContentCells, EqualContentHasEqualCellsAndOtherContentHasOthers) {
  const std::string image(1000, 'a');
  std::string other = image;
  other.back() = 'b';
  const ContentCells rows(as_bytes(image), kKey);
  std::set<PrefixCell> seen;
  for (int64_t row = 0; row < 64; ++row) {
    EXPECT_EQ(rows.at(row), ContentCells(as_bytes(image), kKey).at(row));
    EXPECT_TRUE(rows.at(row).is_valid());
    EXPECT_GT(rows.at(row), PrefixCell(std::numeric_limits<Token>::max()));
    seen.insert(rows.at(row));
    seen.insert(ContentCells(as_bytes(other), kKey).at(row));
    seen.insert(ContentCells(as_bytes(image), {1, 3}).at(row));
    seen.insert(ContentCells(as_bytes(image), {2, 2}).at(row));
  }
  EXPECT_EQ(seen.size(), 4 * 64U) << "each content, key and row has its own";
}

// Files on disk have them.
TEST(ContentCells, StayTheSameFromBuildToBuild) {
  const ContentCells rows(as_bytes("a picture"), kKey);
  EXPECT_EQ(rows.at(0).bits(), 15245851208505738725U);
  EXPECT_EQ(rows.at(1).bits(), 12664812876973541934U);
}

std::vector<PrefixCell> some_cells(size_t n, bool rows) {
  std::vector<PrefixCell> cells;
  for (size_t i = 0; i < n; ++i) {
    cells.push_back(rows && i % 3 == 1 ? PrefixCell::of_hash(i)
                                       : PrefixCell(static_cast<Token>(i)));
  }
  return cells;
}

TEST(CellBlock, GivesBackWhatItWasGiven) {
  CellBlock block;
  for (const bool rows : {false, true, false}) {
    for (const size_t n : {size_t{16}, size_t{5}, size_t{0}}) {
      const std::vector<PrefixCell> given = some_cells(n, rows);
      block.assign(given);
      EXPECT_EQ(block.size(), static_cast<int64_t>(n));
      const PageCells cells = block.cells();
      EXPECT_TRUE(std::equal(given.begin(), given.end(), cells.begin()));
      EXPECT_TRUE(std::all_of(cells.begin() + block.size(), cells.end(),
                              [](PrefixCell cell) { return cell == PrefixCell(); }));
      EXPECT_EQ(block.n_common(given), static_cast<int64_t>(n));
    }
  }
}

TEST(CellBlock, ComparesTokensAndRows) {
  CellBlock tokens, rows;
  tokens.assign(some_cells(8, false));
  rows.assign(some_cells(8, true));
  EXPECT_EQ(tokens.n_common(some_cells(8, true)), 1) << "the low halves are equal";
  EXPECT_EQ(rows.n_common(some_cells(8, false)), 1);
  EXPECT_EQ(rows.n_common(some_cells(16, true)), 8);
  EXPECT_EQ(rows.n_common(some_cells(3, true)), 3);
  EXPECT_TRUE(tokens.sorts_before(some_cells(8, true)));
  EXPECT_FALSE(rows.sorts_before(some_cells(8, false)));
  EXPECT_FALSE(rows.sorts_before(some_cells(8, true)));
  EXPECT_TRUE(rows.sorts_before(some_cells(9, true)));
  EXPECT_FALSE(rows.sorts_before(some_cells(7, true)));
  std::vector<PrefixCell> longer = some_cells(8, true);
  longer.emplace_back(Token{0});
  EXPECT_TRUE(rows.sorts_before(longer));
}

TEST(CellBlock, WholePagesOfEqualLowHalvesDiffer) {
  std::vector<PrefixCell> cells = some_cells(kPageTokens, false);
  cells.back() = PrefixCell::of_hash(cells.back().bits());
  CellBlock tokens, row_at_end;
  tokens.assign(some_cells(kPageTokens, false));
  row_at_end.assign(cells);
  EXPECT_EQ(tokens.n_common(cells), kPageTokens - 1);
  EXPECT_EQ(row_at_end.n_common(some_cells(kPageTokens, false)), kPageTokens - 1);
  EXPECT_EQ(row_at_end.n_common(cells), kPageTokens);
}

TEST(CellBlock, KeepsItsCellsWhenMemoryRunsOut) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  const std::vector<PrefixCell> tokens = some_cells(16, false), rows = some_cells(16, true);
  CellBlock block;
  const int64_t before = n_allocations();
  block.assign(tokens);
  EXPECT_EQ(n_allocations(), before) << "of tokens";
  fail_allocations(1);
  EXPECT_THROW(block.assign(rows), std::bad_alloc);
  let_allocations_succeed();
  EXPECT_EQ(block.n_common(tokens), 16);
}

}  // namespace
}  // namespace ruv::prefix_cell_test
