#include "base/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace ruv {
namespace {

TEST(Hash, IsTheSameEverywhere) {
  EXPECT_EQ(hash_bytes({}), hash_bytes(as_bytes("")));
  const uint64_t known =
      hash_bytes(as_bytes("The same bytes give the same hash on any machine."), 7);
  EXPECT_EQ(known, 0xD61FF02817145B97ULL) << std::hex << known;
}

TEST(Hash, SeesEveryBitEveryLengthAndTheSeed) {
  std::vector<std::byte> bytes(200);
  std::set<uint64_t> seen;
  size_t n = 0;
  for (size_t length = 0; length <= bytes.size(); ++length, ++n)
    seen.insert(hash_bytes(Bytes(bytes).first(length)));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit, ++n) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    seen.insert(hash_bytes(bytes));
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  for (uint64_t seed = 1; seed < 100; ++seed, ++n) seen.insert(hash_bytes(bytes, seed));
  EXPECT_EQ(seen.size(), n);
}

TEST(Hash, TwoChangesOfTheSameBitDoNotCancel) {
  std::vector<std::byte> bytes(4096);
  const uint64_t before = hash_bytes(bytes);
  for (size_t i = 7; i + 64 < bytes.size(); i += 64) {
    bytes[i] ^= std::byte{0x80};
    bytes[i + 64] ^= std::byte{0x80};
    EXPECT_NE(hash_bytes(bytes), before) << i;
    bytes[i] ^= std::byte{0x80};
    bytes[i + 64] ^= std::byte{0x80};
  }
}

TEST(Hash, MovedBlocksDiffer) {
  std::vector<std::byte> bytes(1024);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i >> 3);
  const uint64_t before = hash_bytes(bytes);
  std::swap_ranges(bytes.begin(), bytes.begin() + 64, bytes.begin() + 64);
  EXPECT_NE(hash_bytes(bytes), before);
}

}  // namespace
}  // namespace ruv
