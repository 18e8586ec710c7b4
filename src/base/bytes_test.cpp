#include "base/bytes.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(ByteReader, NamesSourceOffsetAndField) {
  const std::string bytes("\x01\x00\x00\x00\x02", 5);
  ByteReader reader(as_bytes(bytes), "file.bin");
  EXPECT_EQ(reader.read<uint32_t>("count").value(), 1U);
  const Result<uint64_t> past = reader.read<uint64_t>("length");
  ASSERT_FALSE(past.has_value());
  EXPECT_EQ(past.error().code(), Code::corrupt);
  EXPECT_NE(past.error().message().find("file.bin: offset 4: length"), std::string::npos);
  EXPECT_EQ(reader.remaining(), 1U);
  EXPECT_FALSE(reader.take(~uint64_t{0}, "huge").has_value());
}

TEST(CheckedArithmetic, RefusesOverflow) {
  EXPECT_EQ(checked_multiply(1ULL << 32, 1ULL << 31), 1ULL << 63);
  EXPECT_FALSE(checked_multiply(1ULL << 32, 1ULL << 32).has_value());
}

}  // namespace
}  // namespace ruv
