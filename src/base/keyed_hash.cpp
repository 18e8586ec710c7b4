#include "base/keyed_hash.h"

#include <bit>
#include <cstring>

#include "base/entropy.h"

namespace ruv {

namespace {

struct State {
  uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void take(uint64_t word) {
    v3 ^= word;
    round();
    v0 ^= word;
  }
};

}  // namespace

uint64_t keyed_hash(std::string_view text) {
  static const HashKey kKey = {draw_entropy(), draw_entropy()};
  return keyed_hash(text, kKey);
}

uint64_t keyed_hash(std::string_view text, HashKey key) {
  // The constants spell "somepseudorandomlygeneratedbytes".
  State state{key.low ^ 0x736f6d6570736575, key.high ^ 0x646f72616e646f6d,
              key.low ^ 0x6c7967656e657261, key.high ^ 0x7465646279746573};
  const char* at = text.data();
  size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, sizeof(word));
    state.take(word);
  }
  uint64_t last = static_cast<uint64_t>(text.size()) << 56;
  for (size_t i = 0; i < left; ++i) {
    last |= static_cast<uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  }
  state.take(last);
  state.v2 ^= 0xFF;
  state.round();
  state.round();
  state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace ruv
