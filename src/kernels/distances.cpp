#include "kernels/distances.h"

#include <algorithm>
#include <array>

#include "kernels/distance_tables.h"
#include "kernels/kernels.h"

namespace ruv {
namespace {

class DistanceTables {
 public:
  DistanceTables() {
    add(kRefDistances);
#if defined(RUV_KERNELS_AVX2)
    add(kAvx2Distances);
#endif
#if defined(RUV_KERNELS_AVX512)
    if (__builtin_cpu_supports("avx512vpopcntdq")) add(kAvx512Distances);
#endif
#if defined(RUV_KERNELS_NEON)
    add(kNeonDistances);
#endif
  }
  std::span<const DistanceKernels* const> all() const { return {tables_.data(), n_}; }

 private:
  // Where the machine has the instruction set.
  void add(const DistanceKernels& table) {
    if (find_kernels(table.isa) != nullptr) tables_[n_++] = &table;
  }

  std::array<const DistanceKernels*, 4> tables_{};
  size_t n_ = 0;
};

}  // namespace

std::span<const DistanceKernels* const> all_distance_kernels() {
  static const DistanceTables tables;
  return tables.all();
}

// Instruction sets that differ in other kernels alone have no table of their own: the best of those
// up to the chosen one is taken.
const DistanceKernels& distance_kernels() {
  static const DistanceKernels& chosen = [&]() -> const DistanceKernels& {
    const DistanceKernels* best = all_distance_kernels().front();
    for (const Kernels* const known : all_kernels()) {
      for (const DistanceKernels* const table : all_distance_kernels()) {
        if (table->isa == std::string_view(known->isa)) best = table;
      }
      if (known == &kernels()) break;
    }
    return *best;
  }();
  return chosen;
}

}  // namespace ruv
