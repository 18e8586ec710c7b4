// ruv_bench_ablation on AVX2.
#include "ablation.inc.h"
#include "kernels/x86/avx2.inc.h"
#include "kernels/x86/pair_panel.inc.h"

namespace ruv {
namespace {

using Signed = Avx2Signed;

constexpr AblationRow kRows[] = {
    ablation<Signed, Q8_0<Signed>>(block_row<Signed, Q8_0<Signed>>()),
    ablation<Avx2, Q4_0<Avx2>>(block_row<Avx2, Q4_0<Avx2>>()),
    ablation<Avx2, Q4K<Avx2>>(super_row<Avx2, Q4K<Avx2>>()),
    ablation<Avx2, Q5K<Avx2>>(super_row<Avx2, Q5K<Avx2>>()),
    ablation<Avx2, Q6K<Avx2>>(super_row<Avx2, Q6K<Avx2>>()),
    ablation<Signed, Iq4Xs<Signed>>(super_row<Signed, Iq4Xs<Signed>>()),
};

}  // namespace

constinit const AblationTable kAvx2Ablation = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
