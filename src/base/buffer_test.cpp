#include "base/buffer.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ruv {
namespace {

TEST(Buffer, IsZeroedAndRefusesTheImpossible) {
  Result<Buffer> buffer = Buffer::allocate(1 << 20);
  ASSERT_TRUE(buffer.has_value());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->get()) % 64, 0U);
  EXPECT_EQ(std::accumulate(buffer->as<char>(), buffer->as<char>() + (1 << 20), 0), 0);
  EXPECT_EQ(Buffer::allocate(int64_t{1} << 62).error().code(), Code::out_of_memory);
  EXPECT_EQ(Buffer::allocate(-1).error().code(), Code::out_of_memory);
}

}  // namespace
}  // namespace ruv
