// AVX-512 element-wise, reduction and attention kernels.
#include "kernels/generic/pages.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx512.inc.h"

namespace ruv {

constinit const Kernels kAvx512Vectors = {
    .isa = "avx512",
    .gemm = {},
    .quantize_row = Vectors<Avx512>::quantize_row,
    .rms_norm = Vectors<Avx512>::rms_norm,
    .layer_norm = Vectors<Avx512>::layer_norm,
    .add = Vectors<Avx512>::add,
    .silu_gate = Vectors<Avx512>::silu_gate,
    .gelu_gate = Vectors<Avx512>::gelu_gate,
    .gelu = Vectors<Avx512>::gelu,
    .rope_half = Vectors<Avx512>::rope_half,
    .softcap = Vectors<Avx512>::softcap,
    .exp_sum = Vectors<Avx512>::exp_sum,
    .page_scores = Pages<Avx512>::scores,
    .page_values = Pages<Avx512>::values,
    .to_f16 = Vectors<Avx512>::to_f16,
    .int8_peak = Avx512::int8_peak,
    .sum_words = Avx512::sum_words,
};

}  // namespace ruv
