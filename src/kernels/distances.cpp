#include "kernels/distances.h"

#include <array>
#include <cstdlib>

#include "kernels/distance_tables.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace ruv {
namespace {

class DistanceTables {
 public:
  DistanceTables() {
    add(kRefDistances);
#if defined(RUV_KERNELS_AVX2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) add(kAvx2Distances);
#endif
#if defined(RUV_KERNELS_AVX512)
    const bool has_all = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                         __builtin_cpu_supports("avx512vnni") &&
                         __builtin_cpu_supports("avx512vpopcntdq");
    if (has_all) add(kAvx512Distances);
#endif
#if defined(RUV_KERNELS_NEON)
    constexpr unsigned long kNeeded = HWCAP_ASIMDDP | HWCAP_FPHP | HWCAP_ASIMDHP;
    if ((getauxval(AT_HWCAP) & kNeeded) == kNeeded) add(kNeonDistances);
#endif
  }
  std::span<const DistanceKernels* const> all() const { return {tables_.data(), n_}; }

 private:
  void add(const DistanceKernels& table) { tables_[n_++] = &table; }

  std::array<const DistanceKernels*, 4> tables_{};
  size_t n_ = 0;
};

}  // namespace

std::span<const DistanceKernels* const> all_distance_kernels() {
  static const DistanceTables tables;
  return tables.all();
}

// A forced instruction set that has no table of its own, such as one of VNNI's, gets the best.
const DistanceKernels& distance_kernels() {
  static const DistanceKernels& chosen = [&]() -> const DistanceKernels& {
    const auto all = all_distance_kernels();
    const char* const forced = std::getenv("RUV_ISA");
    for (const DistanceKernels* const table : all) {
      if (forced != nullptr && table->isa == forced) return *table;
    }
    return *all.back();
  }();
  return chosen;
}

}  // namespace ruv
