#include "device/cpu/product_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ruv {
namespace {

constexpr int kTeams[] = {1, 2, 3, 4, 8, 16, 24, 64};
constexpr int64_t kGroupCounts[] = {1, 2, 7, 32, 64, 112, 256, 861, 1024, 9497};

TEST(ProductPieces, CoverEveryGroupOnceInOrder) {
  for (const int n_threads : kTeams) {
    for (const int64_t n_groups : kGroupCounts) {
      for (const int64_t n_rows : {1, 8, 9, 512}) {
        const int n = n_pieces(n_groups * 9216, n_rows, n_threads);
        ASSERT_GE(n, 1);
        int64_t at = 0;
        for (int piece = 0; piece < n; ++piece) {
          const Range groups = groups_of_piece(n_groups, piece, n);
          ASSERT_EQ(groups.begin, at);
          ASSERT_GE(groups.end, groups.begin);
          ASSERT_TRUE(groups.begin % kGroupsOfPiece == 0 || groups.begin == n_groups);
          at = groups.end;
        }
        ASSERT_EQ(at, n_groups) << n_threads << " threads, " << n_rows << " rows";
      }
    }
  }
}

// Whatever the team, each thread gets as many pieces as the others, and no piece is more than a
// pair of groups longer than their mean.
TEST(ProductPieces, AreEvenForEveryTeam) {
  for (const int n_threads : kTeams) {
    for (const int64_t n_groups : kGroupCounts) {
      for (const int64_t n_rows : {1, 8, 9, 512}) {
        const int n = n_pieces(n_groups * 9216, n_rows, n_threads);
        int64_t longest = 0;
        for (int piece = 0; piece < n; ++piece) {
          const Range groups = groups_of_piece(n_groups, piece, n);
          longest = std::max(longest, groups.end - groups.begin);
        }
        const int64_t pairs = (n_groups + kGroupsOfPiece - 1) / kGroupsOfPiece;
        EXPECT_EQ(n % n_threads, 0);
        EXPECT_LE(longest, kGroupsOfPiece * ((pairs + n - 1) / n))
            << n_groups << " groups, " << n_threads << " threads, " << n_rows << " rows";
      }
    }
  }
}

// A decode step of one large matrix: each thread reads a few long streams, not many short ones.
TEST(ProductPieces, FewRowsReadLongStreams) {
  constexpr int64_t kBytes = int64_t{64} << 20;
  for (const int n_threads : {2, 16, 64}) {
    const int n = n_pieces(kBytes, 1, n_threads);
    EXPECT_EQ(n % n_threads, 0);
    EXPECT_GE(kBytes / n, int64_t{256} << 10);
  }
}

}  // namespace
}  // namespace ruv
