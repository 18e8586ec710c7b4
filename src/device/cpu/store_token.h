// Writing keys and values into pages, in the form of each type.
#pragma once

#include "device/cpu/cpu_device.h"
#include "device/kv_pages.h"

namespace ruv {

// A token's place, `slot` within the page.
struct TokenPlace {
  PageId page;
  int64_t slot;
  int64_t layer;
  int64_t head;
};
// Writes the key and the value of one token and head in all their forms. Requires: the pages are of
// a CpuDevice, and the page has frames in all groups of the layer.
void store_token(const Kernels& kernels, const KvPages& pages, TokenPlace to, const float* key,
                 const float* value);

}  // namespace ruv
