#include "base/hash.h"

#include <bit>

namespace ruv {
namespace {

// Odd, with bits spread evenly: multiplying by it is a permutation of 64-bit words.
constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15ULL;
constexpr int kLanes = 8;

// A permutation of `state` for each word and of `word` for each state: one changed word always
// changes the lane. The shift brings high bits down, which multiplying never does.
uint64_t absorb(uint64_t state, uint64_t word) {
  const uint64_t h = (state ^ word) * kMultiplier;
  return h ^ (h >> 32);
}

// Eight bytes, little-endian on every machine.
uint64_t load_word(const std::byte* from) {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// A permutation in which every bit of the input affects the result.
uint64_t spread(uint64_t h) {
  h = (h ^ (h >> 32)) * kMultiplier;
  h = (h ^ (h >> 29)) * kMultiplier;
  return h ^ (h >> 32);
}

}  // namespace

// Rounds of eight words; the rest is padded with zeros, and the length enters the final mixing.
uint64_t hash_bytes(Bytes bytes, uint64_t seed) {
  uint64_t lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = spread(seed + static_cast<uint64_t>(i) + 1);
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= sizeof lanes; left -= sizeof lanes, at += sizeof lanes) {
    for (int i = 0; i < kLanes; ++i) lanes[i] = absorb(lanes[i], load_word(at + 8 * i));
  }
  std::byte rest[sizeof lanes] = {};
  if (left > 0) std::memcpy(rest, at, left);
  uint64_t h = spread(seed ^ bytes.size());
  for (int i = 0; i < kLanes; ++i) {
    lanes[i] = absorb(lanes[i], load_word(rest + 8 * i));
    h = spread(absorb(h, lanes[i]));
  }
  return h;
}

}  // namespace ruv
