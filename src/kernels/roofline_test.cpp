// The yardsticks give a figure at all; what it is depends on the machine.
#include "kernels/roofline.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(Rooflines, MeasureSomething) {
  EXPECT_GT(measure_read_gb_s(1), 0.0);
  EXPECT_GT(measure_int8_gop_s(2), 0.0);
}

}  // namespace
}  // namespace ruv
