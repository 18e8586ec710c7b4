// MadeRows: memory for the rows of a tensor that are not blocks in its file (TensorInfo::maker, or
// numbers that do not follow each other). It is reserved at once, so that rows have addresses, and
// a row is made when it is needed: a packed file may have its matrix already.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/key_text.h"
#include "base/range.h"
#include "base/worker_pool.h"
#include "format/model_file.h"

namespace ruv {

class MadeRows {
 public:
  // Rows [rows.begin, rows.end) of a tensor, which must outlive this. Fails: out_of_memory.
  static Result<std::shared_ptr<MadeRows>> create(const TensorInfo& tensor, Range rows);

  // Where the row is, or will be. Requires: `row` is one of the range.
  const std::byte* at(int64_t row) const {
    return memory_.get() + (row - rows_.begin) * row_bytes_;
  }
  bool has(const std::byte* row) const;
  // Makes those of `rows` that are of this object and not made yet, all threads of the pool at
  // work. Fails: as RowMaker::status.
  Status make(std::span<const std::byte* const> rows, WorkerPool& pool);
  // Says which row of which tensor it is, and as what it is made. Requires: has(row).
  void add_tensor(KeyText& key) const;
  int64_t index_of(const std::byte* row) const;

 private:
  MadeRows(const TensorInfo& tensor, Range rows, int64_t row_bytes, Buffer memory);

  const TensorInfo& tensor_;
  Range rows_;
  int64_t row_bytes_;
  Buffer memory_;
  std::vector<uint8_t> is_made_;  // by row
};

}  // namespace ruv
