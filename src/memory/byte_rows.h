// ByteRows: vectors rounded to 8 bits, for looking at many of them with a quarter of the memory and
// of its traffic. Each has a scale of its own, so that a row needs no others to be rounded.
#pragma once

#include <vector>

#include "base/buffer.h"

namespace ruv {

// A vector x is scale · codes, but for rounding.
struct ByteScale {
  float scale = 0;   // max |x| / 127
  float square = 0;  // Σ x², of the numbers before they were rounded
};

class ByteRows {
 public:
  // Requires: n_dims > 0.
  explicit ByteRows(int64_t n_dims) : n_dims_(n_dims), step_((n_dims + 63) / 64 * 64) {}

  // Codes from a row to the next: n_dims and zeros, a multiple of 64.
  int64_t step() const { return step_; }
  // Makes room for rows below n_rows. Fails: out_of_memory, and the rows are as before.
  Status grow(int64_t n_rows);
  // Rounds n_dims numbers to a row.
  void set(uint32_t number, const float* numbers);
  // The same elsewhere. Requires: room for step() codes.
  ByteScale round(const float* numbers, int8_t* codes) const;
  const int8_t* codes(uint32_t number) const {
    return blocks_[number / kRowsOfBlock].as<int8_t>() + number % kRowsOfBlock * step_;
  }
  const ByteScale& scale(uint32_t number) const { return scales_[number]; }
  int64_t n_bytes() const;

 private:
  static constexpr uint32_t kRowsOfBlock = 8192;

  int64_t n_dims_, step_;
  std::vector<Buffer> blocks_;
  std::vector<ByteScale> scales_;
};

}  // namespace ruv
