#include "train/byte_code.h"

#include <algorithm>
#include <limits>

namespace ruv {
namespace {

constexpr double kPowers[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};

}  // namespace

// A stretch is cut into equal parts, whose middles are its numbers. The limit between 0 and the
// least number is half of it with a sign, and the least float without.
ByteCode::ByteCode(bool has_sign) : values_(), limits_() {
  size_t n = 0;
  values_[n++] = 0;
  values_[n++] = 1;
  int64_t n_parts = has_sign ? 1 : 2;
  for (const double power : kPowers) {
    for (int64_t i = 0; i < n_parts; ++i) {
      const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(n_parts);
      const auto number = static_cast<float>(power * (0.1 + 0.9 * share));
      values_[n++] = number;
      if (has_sign) values_[n++] = -number;
    }
    n_parts *= 2;
  }
  std::ranges::sort(values_);
  for (size_t i = 0; i < limits_.size(); ++i) {
    limits_[i] = static_cast<float>((double{values_[i]} + double{values_[i + 1]}) / 2);
  }
  if (!has_sign) limits_[0] = std::numeric_limits<float>::denorm_min();
}

const ByteCode& ByteCode::with_sign() {
  static const ByteCode code(true);
  return code;
}

const ByteCode& ByteCode::without_sign() {
  static const ByteCode code(false);
  return code;
}

}  // namespace ruv
