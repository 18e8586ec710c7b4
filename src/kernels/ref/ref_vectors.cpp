// The reference's kernels in floats: written once over a vector policy, here by the one that needs
// no instruction set.
#include "kernels/generic/vector_table.inc.h"
#include "kernels/ref/plain.inc.h"

namespace ruv {
namespace {

void to_bf16(const float* x, uint16_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = bf16_from_f32(x[i]);
}

}  // namespace

constinit const Kernels kRefVectors = [] {
  Kernels table = vector_table<Plain>("ref");
  table.to_bf16 = to_bf16;
  return table;
}();

}  // namespace ruv
