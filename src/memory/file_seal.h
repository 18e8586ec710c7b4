// FileSeal: what a file of an index is sealed with, and which of the files it is.
#pragma once

#include <cstdint>

#include "base/sealing.h"

namespace ruv {

struct FileSeal {
  const SealKey* key = nullptr;  // null: the file is plain; must outlive what uses it
  uint64_t generation = 0;       // of the graph or log: one cannot take the place of another
};

}  // namespace ruv
