#include "base/once.h"

#include <gtest/gtest.h>

#include <new>
#include <vector>

namespace ruv {
namespace {

TEST(Once, OfManyThreadsOneRunsIt) {
  Once once;
  int n_runs = 0;
  std::vector<Thread> threads(4);
  for (Thread& thread : threads) {
    ASSERT_TRUE(start_thread(thread, [&] {
      once.run([&] { ++n_runs; });
      EXPECT_EQ(n_runs, 1);
    }));
  }
  for (Thread& thread : threads) thread.join();
  EXPECT_EQ(n_runs, 1);
}

TEST(Once, WhereMemoryRanOutTheNextOneTriesAgain) {
  Once once;
  int n_runs = 0;
  EXPECT_THROW(once.run([] { throw std::bad_alloc(); }), std::bad_alloc);
  once.run([&] { ++n_runs; });
  once.run([&] { ++n_runs; });
  EXPECT_EQ(n_runs, 1);
}

}  // namespace
}  // namespace ruv
