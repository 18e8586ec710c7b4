#include "memory/vector_rows.h"

#include <algorithm>

namespace ruv {

Status VectorRows::grow(int64_t n_rows) {
  const int64_t n_blocks = (n_rows + kRowsOfBlock - 1) / kRowsOfBlock;
  while (std::ssize(blocks_) < n_blocks) {
    blocks_.push_back(TRY(new_block(std::ssize(blocks_))));
  }
  return {};
}

Result<const float*> MemoryRows::new_block(int64_t) {
  buffers_.push_back(TRY(Buffer::allocate(n_block_bytes())));
  return buffers_.back().as<float>();
}

Status MemoryRows::set(uint32_t number, const float* numbers) {
  float* const block = buffers_[number / kRowsOfBlock].as<float>();
  std::copy_n(numbers, n_dims(), block + number % kRowsOfBlock * step());
  return {};
}

}  // namespace ruv
