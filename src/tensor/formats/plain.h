// Plain formats: one number after the other, little-endian, at any alignment. Decoding integers
// gives the nearest float32. Encoding rounds half to even and saturates at the type's range; NaN
// becomes 0 in integers.
#pragma once

#include <cstdint>

namespace ruv {

void decode_f32(const void* src, float* dst, int64_t n);
void encode_f32(const float* src, const float* importance, void* dst, int64_t n);
void decode_f64(const void* src, float* dst, int64_t n);
void encode_f64(const float* src, const float* importance, void* dst, int64_t n);
void decode_f16(const void* src, float* dst, int64_t n);
void encode_f16(const float* src, const float* importance, void* dst, int64_t n);
void decode_bf16(const void* src, float* dst, int64_t n);
void encode_bf16(const float* src, const float* importance, void* dst, int64_t n);
void decode_i8(const void* src, float* dst, int64_t n);
void encode_i8(const float* src, const float* importance, void* dst, int64_t n);
void decode_i16(const void* src, float* dst, int64_t n);
void encode_i16(const float* src, const float* importance, void* dst, int64_t n);
void decode_i32(const void* src, float* dst, int64_t n);
void encode_i32(const float* src, const float* importance, void* dst, int64_t n);
void decode_i64(const void* src, float* dst, int64_t n);
void encode_i64(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
