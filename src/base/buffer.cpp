#include "base/buffer.h"

namespace ruv {

SharedBytes::SharedBytes(Buffer buffer) {
  const auto owner = std::make_shared<const Buffer>(std::move(buffer));
  bytes_ = {owner->get(), static_cast<size_t>(owner->n_bytes())};
  owner_ = owner;
}

}  // namespace ruv
