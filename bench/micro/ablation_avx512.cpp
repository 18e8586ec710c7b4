// ruv_bench_ablation on AVX-512 with VNNI.
#include "ablation.inc.h"
#include "kernels/x86/avx512.inc.h"

namespace ruv {
namespace {

using V = Avx512;

constexpr AblationRow kRows[] = {
    ablation<V, Q8_0<V>>(block_row_packed_by<V, Q8_0<V>>(pack_q8_0_offset_16)),
    ablation<V, Q4_0<V>>(block_row<V, Q4_0<V>>()),
    ablation<V, Q4K<V>>(super_row<V, Q4K<V>>()),
    ablation<V, Q5K<V>>(super_row<V, Q5K<V>>()),
    ablation<V, Q6K<V>>(super_row<V, Q6K<V>>()),
    ablation<V, Iq4Xs<V>>(super_row<V, Iq4Xs<V>>()),
};

}  // namespace

constinit const AblationTable kAvx512Ablation = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
