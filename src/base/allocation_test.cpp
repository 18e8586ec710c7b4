#include "base/allocation.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace ruv {
namespace {

TEST(TryAllocating, ReportsThatMemoryRanOut) {
  int n_steps = 0;
  EXPECT_TRUE(try_allocating([&] { ++n_steps; }));
  EXPECT_FALSE(try_allocating([&] {
    ++n_steps;
    throw_out_of_memory();
  }));
  EXPECT_EQ(n_steps, 2);
}

TEST(TryAllocating, CatchesNothingElse) {
  EXPECT_THROW(try_allocating([] { throw std::runtime_error("a bug"); }), std::runtime_error);
}

TEST(Undo, TakesAStepBackUnlessTheNextSucceeded) {
  int value = 0;
  const auto change = [&](bool fails) {
    const int before = std::exchange(value, value + 1);
    Undo undo([&] { value = before; });
    if (fails) throw_out_of_memory();
    undo.keep();
  };
  EXPECT_TRUE(try_allocating([&] { change(false); }));
  EXPECT_EQ(value, 1);
  EXPECT_FALSE(try_allocating([&] { change(true); }));
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace ruv
