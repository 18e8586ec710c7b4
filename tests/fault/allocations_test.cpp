// What the tests of full memory stand on: allocations fail when told, and only then.
#include "fault/allocations.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>

namespace ruv {
namespace {

TEST(Allocations, FailWhenTheyAreTold) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  fail_allocations(2, 2);
  const auto block = std::make_unique<char[]>(10);
  int n_failed = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      (void)std::make_unique<char[]>(10);
    } catch (const std::bad_alloc&) {
      ++n_failed;
    }
  }
  EXPECT_TRUE(let_allocations_succeed());
  EXPECT_EQ(n_failed, 2);
}

TEST(Allocations, SayWhetherOneFailed) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  EXPECT_FALSE(let_allocations_succeed());
  fail_allocations(2);
  const auto block = std::make_unique<char[]>(10);
  EXPECT_FALSE(let_allocations_succeed());
  EXPECT_NO_THROW((void)std::make_unique<char[]>(10));
}

TEST(Allocations, AreCounted) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  const int64_t n_before = n_allocations();
  const int64_t bytes_before = allocated_bytes();
  const auto block = std::make_unique<char[]>(12345);
  EXPECT_EQ(n_allocations() - n_before, 1);
  EXPECT_EQ(allocated_bytes() - bytes_before, 12345);
}

}  // namespace
}  // namespace ruv
