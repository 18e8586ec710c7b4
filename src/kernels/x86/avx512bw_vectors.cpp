// Element-wise, reduction and attention kernels of AVX-512 without VNNI.
#include "kernels/generic/byte_pages.inc.h"
#include "kernels/generic/peaks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx512bw_bytes.inc.h"

namespace ruv {

constinit const Kernels kAvx512BwVectors = {
    .isa = "avx512bw",
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
    .largest = Pages<Avx512>::largest,
    .page_scores = Pages<Avx512>::scores,
    .page_values = Pages<Avx512>::values,
    .blend = Pages<Avx512>::blend,
    .quantize_head = BytePages<Avx512BwBytes>::quantize,
    .byte_scores = BytePages<Avx512BwBytes>::scores,
    .byte_weights = BytePages<Avx512BwBytes>::weights,
    .byte_values = BytePages<Avx512BwBytes>::values,
    .to_f16 = Vectors<Avx512>::to_f16,
    .to_bf16 = nullptr,
    .int8_peak = Avx512Bw::int8_peak,
    .f32_peak = Peaks<Avx512>::f32,
    .bf16_peak = nullptr,
    .sum_words = Avx512::sum_words,
};

}  // namespace ruv
