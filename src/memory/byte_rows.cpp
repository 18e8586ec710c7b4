#include "memory/byte_rows.h"

#include <algorithm>
#include <cmath>

namespace ruv {
namespace {

constexpr float kMostCode = 127;

}  // namespace

Status ByteRows::grow(int64_t n_rows) {
  const int64_t n_blocks = (n_rows + kRowsOfBlock - 1) / kRowsOfBlock;
  while (std::ssize(blocks_) < n_blocks) {
    blocks_.push_back(TRY(Buffer::allocate(kRowsOfBlock * step_)));
  }
  scales_.resize(std::max(scales_.size(), static_cast<size_t>(n_rows)));
  return {};
}

void ByteRows::set(uint32_t number, const float* numbers) {
  scales_[number] = round(numbers, const_cast<int8_t*>(codes(number)));
}

// To the nearest code; of two equally near the even one.
ByteScale ByteRows::round(const float* numbers, int8_t* codes) const {
  float most = 0;
  double square = 0;
  for (int64_t i = 0; i < n_dims_; ++i) {
    most = std::max(most, std::fabs(numbers[i]));
    square += double{numbers[i]} * double{numbers[i]};
  }
  const float to_code = most > 0 ? kMostCode / most : 0;
  for (int64_t i = 0; i < n_dims_; ++i) {
    codes[i] = static_cast<int8_t>(std::lrintf(numbers[i] * to_code));
  }
  std::fill(codes + n_dims_, codes + step_, int8_t{0});
  return {most / kMostCode, static_cast<float>(square)};
}

int64_t ByteRows::n_bytes() const {
  return std::ssize(blocks_) * kRowsOfBlock * step_ +
         std::ssize(scales_) * static_cast<int64_t>(sizeof(ByteScale));
}

}  // namespace ruv
