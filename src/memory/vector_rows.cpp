#include "memory/vector_rows.h"

namespace ruv {

Status VectorRows::grow(int64_t n_rows) {
  const int64_t n_blocks = (n_rows + kRowsOfBlock - 1) / kRowsOfBlock;
  while (std::ssize(blocks_) < n_blocks) {
    const auto n_bytes = kRowsOfBlock * step_ * static_cast<int64_t>(sizeof(float));
    blocks_.push_back(TRY(Buffer::allocate(n_bytes)));
  }
  return {};
}

int64_t VectorRows::n_bytes() const {
  int64_t sum = 0;
  for (const Buffer& block : blocks_) sum += block.n_bytes();
  return sum;
}

}  // namespace ruv
