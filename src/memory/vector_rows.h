// VectorRows: vectors of one length in blocks that never move, so that a reader may keep the
// address of a row while others are added.
#pragma once

#include <span>
#include <vector>

#include "base/buffer.h"

namespace ruv {

class VectorRows {
 public:
  // Requires: n_dims > 0.
  explicit VectorRows(int64_t n_dims) : n_dims_(n_dims), step_((n_dims + 15) / 16 * 16) {}

  int64_t n_dims() const { return n_dims_; }
  // Numbers from a row to the next: n_dims() and zeros, a multiple of 16.
  int64_t step() const { return step_; }
  // Makes room for rows below n_rows. Fails: out_of_memory, and the rows are as before.
  Status grow(int64_t n_rows);
  // Requires: the row is below what grow() was called with.
  float* row(uint32_t number) const {
    return blocks_[number / kRowsOfBlock].as<float>() + number % kRowsOfBlock * step_;
  }
  int64_t n_bytes() const;

 private:
  static constexpr uint32_t kRowsOfBlock = 8192;

  int64_t n_dims_, step_;
  std::vector<Buffer> blocks_;
};

}  // namespace ruv
