// DiskCodes: product codes of all nodes of an index on disk, one array that is read at once
// (memory/product_codes.h has the codes of an index that changes, and what they are).
#pragma once

#include <vector>

#include "base/buffer.h"
#include "base/worker_pool.h"
#include "memory/disk_file.h"

namespace ruv {

class DiskCodes {
 public:
  // Room for the codes of the shape's nodes. Fails: out_of_memory.
  static Result<DiskCodes> allocate(const DiskShape& shape);

  // Learns centres from some of the rows, at even distances; the same for any number of threads.
  // Requires: there are rows.
  void learn(std::span<const float* const> rows, WorkerPool& pool);
  // Codes a row. Different nodes may be set by several threads.
  void set(int64_t node, const float* row, std::vector<float>& memory);

  // The table that a query is compared by.
  void begin(const float* query, std::vector<float>& table) const;
  // What orders the nodes by their distance from the query.
  void measure(std::span<const float> table, std::span<const uint32_t> nodes,
               std::vector<const uint8_t*>& memory, float* out) const;

  // As the file has them.
  std::span<std::byte> centres() const;
  std::span<std::byte> codes() const;
  // Whether all are numbers that vectors have.
  bool are_centres_numbers() const;
  int64_t n_bytes() const { return centres_.n_bytes() + codes_.n_bytes(); }

 private:
  DiskCodes(const DiskShape& shape, Buffer centres, Buffer codes)
      : metric_(shape.metric),
        n_parts_(shape.n_parts()),
        row_bytes_(shape.code_bytes()),
        centres_(std::move(centres)),
        codes_(std::move(codes)) {}

  Metric metric_;
  int64_t n_parts_, row_bytes_;
  Buffer centres_;  // as PartKernel has them
  Buffer codes_;
};

}  // namespace ruv
