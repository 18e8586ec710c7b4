// Packing: the form in which a device multiplies matrices. A loader of weights asks for the shape
// of a matrix, packs it in slices, keeps the bytes in a file if it likes, and gives them to the
// device (Device::take), all without knowing what they mean.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/range.h"
#include "base/worker_pool.h"
#include "device/weight.h"

namespace ruv {

class Packing {
 public:
  virtual ~Packing() = default;

  // The instruction set or device: what is computed under two names may differ.
  virtual std::string_view name() const = 0;
  // A matrix (n_out, n_in) without its bytes.
  virtual Weight shape_of(DType dtype, int64_t n_in, int64_t n_out) const = 0;
  // Packs groups [begin, end) of `weight` to `to`, on the host, all threads of the pool at work.
  // `rows` are those of the whole matrix, each format_of(dtype).bytes_of(n_in) bytes. Requires: a
  // weight of shape_of() that is_packed().
  virtual void pack(const Weight& weight, std::span<const std::byte* const> rows, Range groups,
                    std::byte* to, WorkerPool& pool) const = 0;
  // Numbers that change with the form of any format: packed bytes are good only where they are
  // equal.
  virtual std::vector<uint64_t> fingerprint() const = 0;
};

// A whole matrix on a device, packed or as plain rows, which must then outlive the Weight. Fails:
// out_of_memory.
Result<Weight> pack_weight(Device& device, WorkerPool& pool, DType dtype, int64_t n_in,
                           std::span<const std::byte* const> rows);

}  // namespace ruv
