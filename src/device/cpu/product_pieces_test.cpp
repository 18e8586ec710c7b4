#include "device/cpu/product_pieces.h"

#include <gtest/gtest.h>

#include <numeric>
#include <queue>
#include <vector>

namespace ruv {
namespace {

// The groups that the busiest of n_threads equal threads has when each takes the next piece as soon
// as it is free.
int64_t most_groups(int64_t n_groups, int n_pieces, int n_threads) {
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> busy;
  for (int i = 0; i < n_threads; ++i) busy.push(0);
  int64_t most = 0;
  for (int piece = 0; piece < n_pieces; ++piece) {
    const Range groups = groups_of_piece(n_groups, piece, n_pieces);
    const int64_t until = busy.top() + groups.end - groups.begin;
    busy.pop();
    busy.push(until);
    most = std::max(most, until);
  }
  return most;
}

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

// Whatever the team, no thread has more than its share and one pair of groups for each piece of it.
TEST(ProductPieces, ShareTheWorkEvenlyAmongManyThreads) {
  for (const int n_threads : kTeams) {
    for (const int64_t n_groups : kGroupCounts) {
      for (const int64_t n_rows : {1, 512}) {
        const int n = n_pieces(n_groups * 9216, n_rows, n_threads);
        const int64_t share = (n_groups + n_threads - 1) / n_threads;
        const int64_t pieces_of_thread = (n + n_threads - 1) / n_threads;
        EXPECT_LE(most_groups(n_groups, n, n_threads), share + kGroupsOfPiece * pieces_of_thread)
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
