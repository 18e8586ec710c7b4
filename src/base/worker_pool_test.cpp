#include "base/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>

namespace ruv {
namespace {

TEST(WorkerPool, GivesEveryItemOnce) {
  for (const int n_threads : {1, 3}) {
    WorkerPool pool(n_threads);
    std::vector<std::atomic<int>> seen(1000);
    pool.run_items(1000, [&](int thread, int64_t item) {
      EXPECT_LT(thread, n_threads);
      ++seen[static_cast<size_t>(item)];
    });
    for (const auto& n : seen) EXPECT_EQ(n, 1);
    pool.run_items(0, [](int, int64_t) { FAIL() << "there is none"; });
  }
}

TEST(WorkerPool, RunsEveryThreadOnceAndWaits) {
  for (int n : {1, 2, 5}) {
    WorkerPool pool(n);
    std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
    for (int round = 1; round <= 200; ++round) {
      pool.run([&](int thread) { ++seen[static_cast<size_t>(thread)]; });
      for (const std::atomic<int>& count : seen) ASSERT_EQ(count.load(), round);
    }
  }
}

TEST(WorkerPool, DoesThePartsOfWorkersThatHaveNoCore) {
  // More threads than cores: some begin late in nearly every round.
  WorkerPool pool(64);
  int n_by_caller = 0;
  std::vector<int> seen(64);
  for (int round = 1; round <= 300; ++round) {
    const std::thread::id caller = std::this_thread::get_id();
    pool.run([&](int thread) {
      ++seen[static_cast<size_t>(thread)];
      if (thread != 0 && std::this_thread::get_id() == caller) ++n_by_caller;
    });
    for (const int count : seen) ASSERT_EQ(count, round);
  }
  EXPECT_GT(n_by_caller, 0);
}

}  // namespace
}  // namespace ruv
