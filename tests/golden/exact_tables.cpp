// Goldens are numbers of exact f16 and bf16 weights. A processor whose best table rounds them takes
// its best exact one in these tests; what rounding changes is in rounded_pairs_test.cpp.
#include <cstdlib>

#include "kernels/kernels.h"

namespace ruv {
namespace {

// Before anything asks for kernels().
[[maybe_unused]] const bool kTakesExactTable = [] {
  const Kernels* best = nullptr;
  for (const Kernels* table : all_kernels()) {
    if (table->portable) best = table;
  }
  return ::setenv("RUV_ISA", best->isa, /*overwrite=*/0) == 0;
}();

}  // namespace
}  // namespace ruv
