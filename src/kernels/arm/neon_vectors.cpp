// NEON element-wise, reduction and attention kernels.
#include "kernels/arm/neon_bytes.inc.h"
#include "kernels/generic/byte_pages.inc.h"
#include "kernels/generic/peaks.inc.h"
#include "kernels/isa.h"

namespace ruv {

constinit const Kernels kNeonVectors = {
    .isa = "neon",
    .gemm = {},
    .quantize_row = Vectors<Neon>::quantize_row,
    .rms_norm = Vectors<Neon>::rms_norm,
    .layer_norm = Vectors<Neon>::layer_norm,
    .add = Vectors<Neon>::add,
    .silu_gate = Vectors<Neon>::silu_gate,
    .gelu_gate = Vectors<Neon>::gelu_gate,
    .gelu = Vectors<Neon>::gelu,
    .rope_half = Vectors<Neon>::rope_half,
    .softcap = Vectors<Neon>::softcap,
    .exp_sum = Vectors<Neon>::exp_sum,
    .largest = Pages<Neon>::largest,
    .page_scores = Pages<Neon>::scores,
    .page_values = Pages<Neon>::values,
    .blend = Pages<Neon>::blend,
    .quantize_head = BytePages<NeonBytes>::quantize,
    .byte_scores = BytePages<NeonBytes>::scores,
    .byte_weights = BytePages<NeonBytes>::weights,
    .byte_values = BytePages<NeonBytes>::values,
    .to_f16 = Vectors<Neon>::to_f16,
    .to_bf16 = nullptr,
    .int8_peak = Neon::int8_peak,
    .f32_peak = Peaks<Neon>::f32,
    .bf16_peak = nullptr,
    .sum_words = Neon::sum_words,
};

}  // namespace ruv
