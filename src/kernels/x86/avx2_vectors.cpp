// AVX2 element-wise, reduction and attention kernels.
#include "kernels/generic/byte_pages.inc.h"
#include "kernels/generic/peaks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx2_bytes.inc.h"

namespace ruv {

constinit const Kernels kAvx2Vectors = {
    .isa = "avx2",
    .gemm = {},
    .quantize_row = Vectors<Avx2>::quantize_row,
    .rms_norm = Vectors<Avx2>::rms_norm,
    .layer_norm = Vectors<Avx2>::layer_norm,
    .add = Vectors<Avx2>::add,
    .silu_gate = Vectors<Avx2>::silu_gate,
    .gelu_gate = Vectors<Avx2>::gelu_gate,
    .gelu = Vectors<Avx2>::gelu,
    .rope_half = Vectors<Avx2>::rope_half,
    .softcap = Vectors<Avx2>::softcap,
    .exp_sum = Vectors<Avx2>::exp_sum,
    .largest = Pages<Avx2>::largest,
    .page_scores = Pages<Avx2>::scores,
    .page_values = Pages<Avx2>::values,
    .blend = Pages<Avx2>::blend,
    .quantize_head = BytePages<Avx2Bytes>::quantize,
    .byte_scores = BytePages<Avx2Bytes>::scores,
    .byte_weights = BytePages<Avx2Bytes>::weights,
    .byte_values = BytePages<Avx2Bytes>::values,
    .to_f16 = Vectors<Avx2>::to_f16,
    .to_bf16 = nullptr,
    .int8_peak = Avx2::int8_peak,
    .f32_peak = Peaks<Avx2>::f32,
    .bf16_peak = nullptr,
    .sum_words = Avx2::sum_words,
};

}  // namespace ruv
