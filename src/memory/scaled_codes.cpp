// Codes that a vector has by itself. Rounding is to nearest, of two the even one, so that codes are
// the same on every machine; products of whole numbers are exact.
#include "memory/scaled_codes.h"

#include <algorithm>
#include <cmath>

#include "kernels/distances.h"
#include "kernels/kernels.h"

namespace ruv {
namespace {

constexpr float kMostInt8 = 127;
constexpr float kMostInt4 = 7;
// Smaller numbers may become 0 as f16.
constexpr int kLeastExponent = -100;
constexpr int kHalfExponent = 15;

float largest_of(std::span<const float> numbers) {
  float most = 0;
  for (const float x : numbers) most = std::max(most, std::fabs(x));
  return most;
}

float square_of(std::span<const float> numbers) {
  double square = 0;
  for (const float x : numbers) square += double{x} * double{x};
  return static_cast<float>(square);
}

// To the nearest code; of two equally near the even one.
RowScale round_to_int8(std::span<const float> numbers, std::span<int8_t> codes) {
  const float most = largest_of(numbers);
  const float to_code = most > 0 ? kMostInt8 / most : 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    codes[i] = static_cast<int8_t>(std::lrintf(numbers[i] * to_code));
  }
  std::ranges::fill(codes.subspan(numbers.size()), int8_t{0});
  return {most / kMostInt8, square_of(numbers)};
}

void begin_int8(std::span<const float> query, size_t n, CodedQuery& memory) {
  memory.bytes.resize(n);
  const std::span<int8_t> codes(reinterpret_cast<int8_t*>(memory.bytes.data()), n);
  memory.scale = round_to_int8(query, codes);
}

// How near codes of these bits are: that many more than the k nearest have to be looked at.
int64_t some_more(int64_t k, int64_t n_found, int64_t factor, int64_t more) {
  return std::min(n_found, factor * k + more);
}

std::span<const float> numbers_of(const float* numbers, int64_t n) {
  return {numbers, static_cast<size_t>(n)};
}

void set_signs(std::span<const float> numbers, std::span<uint8_t> bits) {
  std::ranges::fill(bits, uint8_t{0});
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0) bits[i / 8] |= static_cast<uint8_t>(1U << (i % 8));
  }
}

}  // namespace

void Int8Codes::set(uint32_t number, const float* numbers, CodedQuery&) {
  auto* const codes = reinterpret_cast<int8_t*>(code_to_set(number));
  scales_[number] =
      round_to_int8(numbers_of(numbers, n_dims_), {codes, static_cast<size_t>(row_bytes_)});
}

void Int8Codes::begin(const float* query, CodedQuery& memory) const {
  begin_int8(numbers_of(query, n_dims_), static_cast<size_t>(row_bytes_), memory);
}

void Int8Codes::measure(CodedQuery& query, std::span<const uint32_t> rows, float* out) const {
  collect(query, rows);
  query.counts.resize(rows.size());
  distance_kernels().dot_int8(reinterpret_cast<const int8_t*>(query.bytes.data()),
                              reinterpret_cast<const int8_t* const*>(query.rows.data()),
                              std::ssize(rows), row_bytes_, query.counts.data());
  from_products(query, rows, out);
}

int64_t Int8Codes::n_measured_again(int64_t k, int64_t n_found) const {
  return some_more(k, n_found, 2, 16);
}

// The upper half of a byte belongs to the number 32 places after that of the lower half.
void Int4Codes::set(uint32_t number, const float* numbers, CodedQuery&) {
  const std::span<const float> x = numbers_of(numbers, n_dims_);
  const float most = largest_of(x);
  const float to_code = most > 0 ? kMostInt4 / most : 0;
  uint8_t* const bytes = code_to_set(number);
  constexpr uint8_t kZeros = 0x88;  // nibbles are 8 higher than their numbers
  std::fill_n(bytes, row_bytes_, kZeros);
  for (size_t i = 0; i < x.size(); ++i) {
    const auto nibble = static_cast<uint8_t>(std::lrintf(x[i] * to_code) + 8);
    uint8_t& byte = bytes[i / 64 * 32 + i % 32];
    byte = static_cast<uint8_t>(i % 64 < 32 ? (byte & 0xF0) | nibble : (byte & 15) | nibble << 4);
  }
  scales_[number] = {most / kMostInt4, square_of(x)};
}

void Int4Codes::begin(const float* query, CodedQuery& memory) const {
  begin_int8(numbers_of(query, n_dims_), static_cast<size_t>(2 * row_bytes_), memory);
}

void Int4Codes::measure(CodedQuery& query, std::span<const uint32_t> rows, float* out) const {
  collect(query, rows);
  query.counts.resize(rows.size());
  distance_kernels().dot_int4(reinterpret_cast<const int8_t*>(query.bytes.data()),
                              query.rows.data(), std::ssize(rows), 2 * row_bytes_,
                              query.counts.data());
  from_products(query, rows, out);
}

int64_t Int4Codes::n_measured_again(int64_t k, int64_t n_found) const {
  return some_more(k, n_found, 4, 32);
}

// A power of two changes no bit of a number, so that only the rounding to f16 does.
void HalfCodes::set(uint32_t number, const float* numbers, CodedQuery& memory) {
  int exponent = 0;
  const float most = largest_of(numbers_of(numbers, n_dims_));
  std::frexp(most, &exponent);
  exponent = most > 0 ? std::max(exponent - kHalfExponent, kLeastExponent) : 0;
  const float from_scale = std::ldexp(1.0F, -exponent);
  const auto n = static_cast<size_t>(row_bytes_) / sizeof(uint16_t);
  memory.scales.assign(n, 0.0F);
  for (size_t i = 0; i < static_cast<size_t>(n_dims_); ++i) {
    memory.scales[i] = numbers[i] * from_scale;
  }
  kernels().to_f16(memory.scales.data(), reinterpret_cast<uint16_t*>(code_to_set(number)),
                   static_cast<int64_t>(n));
  scales_[number].scale = std::ldexp(1.0F, exponent);
}

void HalfCodes::begin(const float* query, CodedQuery& memory) const {
  memory.numbers.assign(static_cast<size_t>(row_bytes_) / sizeof(uint16_t), 0.0F);
  std::copy_n(query, n_dims_, memory.numbers.data());
}

void HalfCodes::measure(CodedQuery& query, std::span<const uint32_t> rows, float* out) const {
  query.halves.clear();
  query.scales.clear();
  for (const uint32_t row : rows) {
    query.halves.push_back(reinterpret_cast<const uint16_t*>(code(row)));
    query.scales.push_back(scales_[row].scale);
  }
  const DistanceKernels& kernels = distance_kernels();
  const HalfKernel kernel = is_product()                   ? kernels.dot_half
                            : metric_ == Metric::manhattan ? kernels.manhattan_half
                                                           : kernels.l2_half;
  const auto n = std::ssize(rows);
  kernel(query.numbers.data(), query.halves.data(), query.scales.data(), n,
         row_bytes_ / static_cast<int64_t>(sizeof(uint16_t)), out);
  if (!is_product()) return;
  for (int64_t i = 0; i < n; ++i) out[i] = -out[i];
}

int64_t HalfCodes::n_measured_again(int64_t k, int64_t n_found) const {
  return some_more(k, n_found, 2, 16);
}

void BinaryCodes::set(uint32_t number, const float* numbers, CodedQuery&) {
  const std::span<const float> x = numbers_of(numbers, n_dims_);
  set_signs(x, {code_to_set(number), static_cast<size_t>(row_bytes_)});
  const float square = square_of(x);
  scales_[number] = {std::sqrt(square), square};
}

void BinaryCodes::begin(const float* query, CodedQuery& memory) const {
  const std::span<const float> x = numbers_of(query, n_dims_);
  memory.bytes.resize(static_cast<size_t>(row_bytes_));
  set_signs(x, memory.bytes);
  const float square = square_of(x);
  memory.scale = {std::sqrt(square), square};
}

// Two drawn vectors with an angle a between them differ in a share of a / π of their signs. With
// s = 1 - 2a/π the cosine of a is near to s (3 - s²) / 2.
void BinaryCodes::measure(CodedQuery& query, std::span<const uint32_t> rows, float* out) const {
  collect(query, rows);
  query.counts.resize(rows.size());
  distance_kernels().hamming(query.bytes.data(), query.rows.data(), std::ssize(rows), row_bytes_,
                             query.counts.data());
  const float to_share = 2.0F / static_cast<float>(n_dims_);
  for (size_t i = 0; i < rows.size(); ++i) {
    const RowScale& row = scales_[rows[i]];
    const float s = 1 - to_share * static_cast<float>(query.counts[i]);
    const float product = query.scale.scale * row.scale * (s * (3 - s * s) / 2);
    out[i] = is_product() ? -product : query.scale.square + row.square - 2 * product;
  }
}

}  // namespace ruv
