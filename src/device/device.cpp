#include "device/device.h"

namespace ruv {

Result<Vector> Device::vector(std::vector<float> numbers) {
  if (numbers.empty()) return Vector();
  const auto owner = std::make_shared<const std::vector<float>>(std::move(numbers));
  const Bytes bytes = std::as_bytes(std::span(*owner));
  return Vector{TRY(take(SharedBytes(bytes, owner)))};
}

}  // namespace ruv
