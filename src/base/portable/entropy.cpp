#include "base/entropy.h"

#include <random>

namespace ruv {

uint64_t draw_entropy() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace ruv
