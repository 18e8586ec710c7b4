// The vector policy that needs no instruction set: 16 lanes as an array, every operation a loop.
// It is what an operation of the other policies means, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/generic/tile.inc.h"
#include "tensor/half.h"

namespace ruv {
namespace {

struct Plain {
  static constexpr int kLanes = 16;
  // Small tiles: there are no registers to fill, and what is not unrolled compiles fast.
  static constexpr int kTileRows = 2;
  static constexpr int kFloatTileRows = 2;
  static constexpr int kFloatDirectRows = 2;
  static constexpr int kPageRows = 2;
  static constexpr int kPageSums = 4;
  static constexpr int prefetch_bytes(int block_vectors) { return 65536 / block_vectors; }
  static constexpr int kFloatPrefetch = 8192;
  static constexpr int64_t kFloatPanelSteps = 128;
  static constexpr int kFloatStepsAtOnce = 1;
  static constexpr bool kFloatPrefetchesRows = false;
  static constexpr int kByteStepsAtOnce = 1;
  static constexpr bool kWidensPages = false;
  static constexpr int kPanelFromRows = 0;
  static constexpr int kByteMax = 0;
  static constexpr int kByteOffset = 0;
  struct F {
    float x[kLanes];
  };
  struct I {
    int32_t x[kLanes];
  };
  // Four bytes of every lane.
  struct B {
    uint8_t x[4 * kLanes];
  };

  static F zero() { return {}; }
  static F set(float x) {
    return lanes([=](int) { return x; });
  }
  static F load(const float* p) {
    return lanes([=](int i) { return p[i]; });
  }
  static void store(float* p, const F& x) { __builtin_memcpy(p, x.x, sizeof x.x); }
  static F add(const F& a, const F& b) {
    return lanes([&](int i) { return a.x[i] + b.x[i]; });
  }
  static F sub(const F& a, const F& b) {
    return lanes([&](int i) { return a.x[i] - b.x[i]; });
  }
  static F mul(const F& a, const F& b) {
    return lanes([&](int i) { return a.x[i] * b.x[i]; });
  }
  static F div(const F& a, const F& b) {
    return lanes([&](int i) { return a.x[i] / b.x[i]; });
  }
  // a · b + c, rounded once.
  static F fma(const F& a, const F& b, const F& c) {
    return lanes([&](int i) { return __builtin_fmaf(a.x[i], b.x[i], c.x[i]); });
  }
  // Both return b where a or b is NaN.
  static F max(const F& a, const F& b) {
    return lanes([&](int i) { return a.x[i] > b.x[i] ? a.x[i] : b.x[i]; });
  }
  static F min(const F& a, const F& b) {
    return lanes([&](int i) { return a.x[i] < b.x[i] ? a.x[i] : b.x[i]; });
  }
  static F abs(const F& x) {
    return lanes([&](int i) { return __builtin_fabsf(x.x[i]); });
  }
  // To the nearest integer, of two the even one.
  static F round(const F& x) {
    return lanes([&](int i) { return __builtin_rintf(x.x[i]); });
  }
  static F with_sign_of(const F& magnitude, const F& x) {
    return lanes([&](int i) { return __builtin_copysignf(magnitude.x[i], x.x[i]); });
  }
  // value where x >= limit or x is NaN, else 0.
  static F zero_below(const F& value, const F& x, const F& limit) {
    return lanes([&](int i) { return x.x[i] < limit.x[i] ? 0.0F : value.x[i]; });
  }
  // 2^n for integral n in [-126, 127].
  static F power_of_two(const F& n) {
    return lanes([&](int i) {
      const uint32_t bits = static_cast<uint32_t>(integer(n.x[i]) + 127) << 23;
      float power;
      __builtin_memcpy(&power, &bits, 4);
      return power;
    });
  }
  // Folded in halves.
  static float sum(F x) {
    for (int n = kLanes / 2; n > 0; n /= 2) {
      for (int i = 0; i < n; ++i) x.x[i] += x.x[i + n];
    }
    return x.x[0];
  }
  static float greatest(const F& x) {
    float most = x.x[0];
    for (const float lane : x.x) most = lane > most ? lane : most;
    return most;
  }

  static F load_f16(const void* p) {
    return lanes([=](int i) { return f32_from_f16(half_at(p, i)); });
  }
  static void store_f16(uint16_t* p, const F& x) {
    for (int i = 0; i < kLanes; ++i) p[i] = f16_from_f32(x.x[i]);
  }
  static F load_bf16(const void* p) {
    return lanes([=](int i) { return f32_from_bf16(half_at(p, i)); });
  }
  static void store_int8(int8_t* p, const F& x) {
    for (int i = 0; i < kLanes; ++i) p[i] = static_cast<int8_t>(integer(x.x[i]));
  }
  // Σ of 16 int8.
  static int sum_int8_16(const int8_t* p) {
    int sum = 0;
    for (int i = 0; i < 16; ++i) sum += p[i];
    return sum;
  }

  static B load_bytes(const std::byte* p) {
    B b;
    __builtin_memcpy(b.x, p, sizeof b.x);
    return b;
  }
  static B or_(const B& a, const B& b) {
    return bytes([&](int i) { return a.x[i] | b.x[i]; });
  }
  static B low_nibbles(const B& x) {
    return bytes([&](int i) { return x.x[i] & 15; });
  }
  static B high_nibbles(const B& x) {
    return bytes([&](int i) { return x.x[i] >> 4; });
  }
  // kWeight in every byte whose bit kBit is set.
  template <int kBit, int kWeight>
  static B bit(const B& x) {
    return bytes([&](int i) { return (x.x[i] >> kBit & 1) * kWeight; });
  }
  // Bits kBit, kBit+1 of every byte, shifted to kShift.
  template <int kBit, int kShift>
  static B pair(const B& x) {
    return bytes([&](int i) { return (x.x[i] >> kBit & 3) << kShift; });
  }
  static B iq4_values(const B& index) {
    static constexpr int kValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};
    return bytes([&](int i) { return kValues[index.x[i]]; });
  }

  // Levels::kLevels[index]. Requires: indices below 16.
  template <class Levels>
  static B look_up(const B& index) {
    return bytes([&](int i) { return Levels::kLevels[index.x[i]]; });
  }

  // Every lane's byte, moved up, as the bits of a float32.
  template <int kShift>
  static F from_bits(const std::byte* p) {
    return lanes(
        [=](int i) { return __builtin_bit_cast(float, static_cast<uint32_t>(p[i]) << kShift); });
  }
  // Every lane's byte as a sign and, moved up, seven bits of a float32.
  template <int kShift>
  static F from_float8(const std::byte* p) {
    return lanes([=](int i) {
      const auto x = static_cast<uint32_t>(p[i]);
      return __builtin_bit_cast(float, (x & 0x80U) << 24 | (x & 0x7FU) << kShift);
    });
  }
  // Levels::kLevels[the nibble at bit `at` of every lane's byte].
  template <class Levels>
  static F look_up_floats(const std::byte* p, int at) {
    return lanes([=](int i) { return Levels::kLevels[static_cast<uint8_t>(p[i]) >> at & 15]; });
  }
  static F from_int(const I& n) {
    return lanes([&](int i) { return static_cast<float>(n.x[i]); });
  }
  static F from_u8(const std::byte* p) {
    return lanes([=](int i) { return static_cast<float>(static_cast<uint8_t>(p[i])); });
  }
  static F from_s8(const std::byte* p) {
    return lanes([=](int i) { return static_cast<float>(static_cast<int8_t>(p[i])); });
  }
  // The nibble at bit `at` of every lane's byte.
  static F from_u4(const std::byte* p, int at) {
    return lanes([=](int i) { return static_cast<float>(static_cast<uint8_t>(p[i]) >> at & 15); });
  }
  // Nibble at bit low_at of p plus 16 times the pair at bit high_at of q.
  static F from_six_bits(const std::byte* p, int low_at, const std::byte* q, int high_at) {
    return lanes([=](int i) {
      const int low = static_cast<uint8_t>(p[i]) >> low_at & 15;
      return static_cast<float>(low + 16 * (static_cast<uint8_t>(q[i]) >> high_at & 3));
    });
  }

  // kFirst · sums[0] + kSecond · sums[1] in every lane.
  template <int kFirst, int kSecond>
  static I weigh_sums(const int16_t* sums) {
    return ints([=](int) { return kFirst * sums[0] + kSecond * sums[1]; });
  }
  // start + Σ words [kBegin, kEnd) of the block.
  template <int kMax, int kBegin, int kEnd>
  static I dot(I start, const B* codes, const int8_t* q) {
    for (int j = kBegin; j < kEnd; ++j) {
      for (int i = 0; i < 4 * kLanes; ++i) {
        const int code = kMax == 0 ? static_cast<int8_t>(codes[j].x[i]) : codes[j].x[i];
        start.x[i / 4] += code * q[4 * j + i % 4];
      }
    }
    return start;
  }

  // Sixteen chains of multiply-adds.
  static int64_t int8_peak(int64_t rounds, int32_t* sink) {
    uint32_t sums[kLanes] = {};
    for (int64_t round = 0; round < rounds; ++round) {
      for (int i = 0; i < kLanes; ++i) {
        sums[i] += static_cast<uint32_t>(static_cast<int8_t>(round) * static_cast<int8_t>(i));
      }
    }
    for (const uint32_t sum : sums) *sink ^= static_cast<int32_t>(sum);
    return rounds * kLanes;
  }
  static uint64_t sum_words(const uint64_t* words, int64_t n) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += words[i];
    return sum;
  }

 protected:
  template <class Function>
  static F lanes(Function f) {
    F result;
    for (int i = 0; i < kLanes; ++i) result.x[i] = f(i);
    return result;
  }
  template <class Function>
  static I ints(Function f) {
    I result;
    for (int i = 0; i < kLanes; ++i) result.x[i] = f(i);
    return result;
  }
  template <class Function>
  static B bytes(Function f) {
    B result;
    for (int i = 0; i < 4 * kLanes; ++i) result.x[i] = static_cast<uint8_t>(f(i));
    return result;
  }
  // The nearest integer of what fits int32, else 0.
  static int32_t integer(float x) {
    return __builtin_fabsf(x) < 2e9F ? static_cast<int32_t>(__builtin_rintf(x)) : 0;
  }
  static uint16_t half_at(const void* p, int i) {
    uint16_t bits;
    __builtin_memcpy(&bits, static_cast<const char*>(p) + 2 * i, 2);
    return bits;
  }
};

// What attention over pages of integers asks of it.
struct PlainBytes : Plain {
  // Two int16 of every lane.
  struct W {
    int16_t x[2 * kLanes];
  };
  struct Four {
    int8_t x[4];
  };
  struct Two {
    int16_t x[2];
  };
  static constexpr int32_t kKeyOffset = 0;

  static I set_int(int32_t x) {
    return ints([=](int) { return x; });
  }
  static Four four_of(const int8_t* p) { return {p[0], p[1], p[2], p[3]}; }
  static Two two_of(const int16_t* p) { return {p[0], p[1]}; }
  static B key_words(const uint8_t* p) {
    return bytes([=](int i) { return p[i] ^ 0x80; });
  }
  static I dot_keys(I sum, const B& key, Four q) {
    for (int i = 0; i < 4 * kLanes; ++i) sum.x[i / 4] += static_cast<int8_t>(key.x[i]) * q.x[i % 4];
    return sum;
  }
  static I dot_codes(I sum, const B& codes, Four q) { return dot_keys(sum, codes, q); }
  template <int kShift, int kMask>
  static W code_pairs(const uint32_t* p) {
    return pairs([=](int i) { return p[i / 2] >> (16 * (i % 2) + kShift) & kMask; });
  }
  static W value_pairs(const int8_t* p) {
    return pairs([=](int i) { return p[i]; });
  }
  static I dot_values(I sum, const W& value, Two p) {
    for (int i = 0; i < 2 * kLanes; ++i) sum.x[i / 2] += value.x[i] * p.x[i % 2];
    return sum;
  }
  static void store_int16(int16_t* p, const F& x) {
    for (int i = 0; i < kLanes; ++i) p[i] = static_cast<int16_t>(integer(x.x[i]));
  }

 private:
  template <class Function>
  static W pairs(Function f) {
    W result;
    for (int i = 0; i < 2 * kLanes; ++i) result.x[i] = static_cast<int16_t>(f(i));
    return result;
  }
};

}  // namespace
}  // namespace ruv
