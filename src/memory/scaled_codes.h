// Codes that a vector has by itself: its numbers rounded to multiples of a scale, or their signs.
#pragma once

#include "memory/code_rows.h"

namespace ruv {

// Numbers from -127 to 127, 64 bytes at a time.
class Int8Codes final : public CodeRows {
 public:
  Int8Codes(Metric metric, int64_t n_dims) : CodeRows(metric, n_dims, (n_dims + 63) / 64 * 64) {}
  void set(uint32_t number, const float* numbers, CodedQuery& memory) override;
  void begin(const float* query, CodedQuery& memory) const override;
  void measure(CodedQuery& query, std::span<const uint32_t> rows, float* out) const override;
  int64_t n_measured_again(int64_t k, int64_t n_found) const override;
};

// Numbers from -7 to 7, as DistanceKernels::dot_int4 has them; the query has 8 bits.
class Int4Codes final : public CodeRows {
 public:
  Int4Codes(Metric metric, int64_t n_dims) : CodeRows(metric, n_dims, (n_dims + 63) / 64 * 32) {}
  void set(uint32_t number, const float* numbers, CodedQuery& memory) override;
  void begin(const float* query, CodedQuery& memory) const override;
  void measure(CodedQuery& query, std::span<const uint32_t> rows, float* out) const override;
  int64_t n_looked_at(int64_t n) const override { return n + n / 2; }
  int64_t n_measured_again(int64_t k, int64_t n_found) const override;
};

// f16 times a power of two, with which the largest number is below 2^15.
class HalfCodes final : public CodeRows {
 public:
  HalfCodes(Metric metric, int64_t n_dims) : CodeRows(metric, n_dims, (n_dims + 15) / 16 * 32) {}
  void set(uint32_t number, const float* numbers, CodedQuery& memory) override;
  void begin(const float* query, CodedQuery& memory) const override;
  void measure(CodedQuery& query, std::span<const uint32_t> rows, float* out) const override;
  int64_t n_measured_again(int64_t k, int64_t n_found) const override;
};

// A bit for each number, 1 where it is negative. The share of bits that differ gives the angle of
// two vectors, and their lengths the rest of the distance.
class BinaryCodes final : public CodeRows {
 public:
  BinaryCodes(Metric metric, int64_t n_dims) : CodeRows(metric, n_dims, (n_dims + 63) / 64 * 8) {}
  void set(uint32_t number, const float* numbers, CodedQuery& memory) override;
  void begin(const float* query, CodedQuery& memory) const override;
  void measure(CodedQuery& query, std::span<const uint32_t> rows, float* out) const override;
  int64_t n_looked_at(int64_t n) const override { return 4 * n; }
  int64_t n_measured_again(int64_t, int64_t n_found) const override { return n_found; }
};

}  // namespace ruv
