// VectorRows: vectors of one length in blocks that never move, so that a reader may keep the
// address of a row while others are added. The blocks are memory (MemoryRows) or files that are
// mapped (FileRows).
#pragma once

#include <span>
#include <vector>

#include "base/buffer.h"

namespace ruv {

class VectorRows {
 public:
  static constexpr uint32_t kRowsOfBlock = 8192;

  virtual ~VectorRows() = default;
  VectorRows(const VectorRows&) = delete;
  VectorRows& operator=(const VectorRows&) = delete;

  int64_t n_dims() const { return n_dims_; }
  // Numbers from a row to the next: n_dims() and zeros, a multiple of 16.
  int64_t step() const { return step_; }
  // Makes room for rows below n_rows. Fails: out_of_memory, as files; the rows are as before.
  Status grow(int64_t n_rows);
  // Requires: the row is below what grow() was called with.
  const float* row(uint32_t number) const {
    return blocks_[number / kRowsOfBlock] + number % kRowsOfBlock * step_;
  }
  // Writes n_dims numbers to a row that no thread reads. Fails: as files; what the row has is
  // undefined then.
  virtual Status set(uint32_t number, const float* numbers) = 0;
  // Returns when what was set survives a loss of power, where rows are kept at all.
  virtual Status sync() { return {}; }
  // The memory that the process has for itself; mapped files count nothing.
  virtual int64_t n_bytes() const = 0;

 protected:
  // Requires: n_dims > 0.
  explicit VectorRows(int64_t n_dims) : n_dims_(n_dims), step_((n_dims + 15) / 16 * 16) {}
  // Room for block `index`, which is the next one: kRowsOfBlock rows.
  virtual Result<const float*> new_block(int64_t index) = 0;
  int64_t n_block_bytes() const {
    return kRowsOfBlock * step_ * static_cast<int64_t>(sizeof(float));
  }

 private:
  int64_t n_dims_, step_;
  std::vector<const float*> blocks_;
};

// Rows in memory, zero at first.
class MemoryRows final : public VectorRows {
 public:
  explicit MemoryRows(int64_t n_dims) : VectorRows(n_dims) {}
  Status set(uint32_t number, const float* numbers) override;
  int64_t n_bytes() const override { return std::ssize(buffers_) * n_block_bytes(); }

 private:
  Result<const float*> new_block(int64_t index) override;

  std::vector<Buffer> buffers_;
};

}  // namespace ruv
