#include "device/packing.h"

namespace ruv {

Result<Weight> pack_weight(Device& device, WorkerPool& pool, DType dtype, int64_t n_in,
                           std::span<const std::byte* const> rows) {
  Weight weight = device.packing().shape_of(dtype, n_in, std::ssize(rows));
  if (!weight.is_packed()) {
    weight.plain = TRY(device.take_rows(rows, format_of(dtype).bytes_of(n_in)));
    return weight;
  }
  Buffer packed = TRY(Buffer::allocate(weight.packed_bytes()));
  device.packing().pack(weight, rows, {0, weight.n_groups()}, packed.get(), pool);
  weight.packed = TRY(device.take(SharedBytes(std::move(packed))));
  return weight;
}

}  // namespace ruv
