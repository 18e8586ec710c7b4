// Plain formats: a conversion per number.
#include "tensor/formats/plain.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "tensor/half.h"

namespace ruv {
namespace {

// Copies each number out before converting it: files do not align tensors.
template <class T, float (*kConvert)(T)>
void decode_each(const void* src, float* dst, int64_t n) {
  const auto* at = static_cast<const std::byte*>(src);
  for (int64_t i = 0; i < n; ++i, at += sizeof(T)) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    dst[i] = kConvert(value);
  }
}

template <class T, T (*kConvert)(float)>
void encode_each(const float* src, void* dst, int64_t n) {
  auto* at = static_cast<std::byte*>(dst);
  for (int64_t i = 0; i < n; ++i, at += sizeof(T)) {
    const T value = kConvert(src[i]);
    std::memcpy(at, &value, sizeof(T));
  }
}

template <class T>
float to_f32(T value) {
  return static_cast<float>(value);
}

// Rounds and clamps. Compares in double, where every limit of T but int64's is exact. The negated
// comparison sends NaN to 0.
template <class T>
T saturated(float value) {
  constexpr double kTop = static_cast<double>(std::numeric_limits<T>::max());
  const double rounded = std::nearbyint(static_cast<double>(value));
  if (!(rounded > -kTop)) return rounded <= -kTop ? std::numeric_limits<T>::min() : T{0};
  return rounded >= kTop ? std::numeric_limits<T>::max() : static_cast<T>(rounded);
}

double to_f64(float value) { return static_cast<double>(value); }

}  // namespace

void decode_f32(const void* src, float* dst, int64_t n) {
  std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(float));
}
void encode_f32(const float* src, const float* /*importance*/, void* dst, int64_t n) {
  std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(float));
}
void decode_f64(const void* src, float* dst, int64_t n) {
  decode_each<double, to_f32<double>>(src, dst, n);
}
void encode_f64(const float* src, const float* /*importance*/, void* dst, int64_t n) {
  encode_each<double, to_f64>(src, dst, n);
}
void decode_f16(const void* src, float* dst, int64_t n) {
  decode_each<uint16_t, f32_from_f16>(src, dst, n);
}
void encode_f16(const float* src, const float* /*importance*/, void* dst, int64_t n) {
  encode_each<uint16_t, f16_from_f32>(src, dst, n);
}
void decode_bf16(const void* src, float* dst, int64_t n) {
  decode_each<uint16_t, f32_from_bf16>(src, dst, n);
}
void encode_bf16(const float* src, const float* /*importance*/, void* dst, int64_t n) {
  encode_each<uint16_t, bf16_from_f32>(src, dst, n);
}
void decode_i8(const void* src, float* dst, int64_t n) {
  decode_each<int8_t, to_f32<int8_t>>(src, dst, n);
}
void encode_i8(const float* src, const float* /*importance*/, void* dst, int64_t n) {
  encode_each<int8_t, saturated<int8_t>>(src, dst, n);
}
void decode_i16(const void* src, float* dst, int64_t n) {
  decode_each<int16_t, to_f32<int16_t>>(src, dst, n);
}
void encode_i16(const float* src, const float* /*importance*/, void* dst, int64_t n) {
  encode_each<int16_t, saturated<int16_t>>(src, dst, n);
}
void decode_i32(const void* src, float* dst, int64_t n) {
  decode_each<int32_t, to_f32<int32_t>>(src, dst, n);
}
void encode_i32(const float* src, const float* /*importance*/, void* dst, int64_t n) {
  encode_each<int32_t, saturated<int32_t>>(src, dst, n);
}
void decode_i64(const void* src, float* dst, int64_t n) {
  decode_each<int64_t, to_f32<int64_t>>(src, dst, n);
}
void encode_i64(const float* src, const float* /*importance*/, void* dst, int64_t n) {
  encode_each<int64_t, saturated<int64_t>>(src, dst, n);
}

}  // namespace ruv
