// The yardsticks give a figure at all; what it is depends on the machine.
#include "kernels/roofline.h"

#include <gtest/gtest.h>

#include "kernels/kernels.h"

namespace ruv {
namespace {

TEST(Rooflines, ReadMemory) {
  EXPECT_GT(measure_read_gb_s(1), 0.0);
  Result<MemoryReader> reader = MemoryReader::create(2);
  ASSERT_TRUE(reader);
  EXPECT_GT(reader->best_gb_s(1), 0.0);
  EXPECT_STRNE(reader->pattern(), "");
}

TEST(Rooflines, MultiplyNumbers) {
  EXPECT_GT(measure_int8_gop_s(2), 0.0);
  EXPECT_GT(measure_f32_gop_s(2), 0.0);
  EXPECT_EQ(measure_bf16_gop_s(1) > 0, kernels().bf16_peak != nullptr);
}

TEST(Rooflines, CallATeam) {
  EXPECT_GT(measure_barrier_ns(1), 0.0);
  EXPECT_GT(measure_barrier_ns(2), 0.0);
}

}  // namespace
}  // namespace ruv
