// What the element-wise, reduction and attention kernels compute, in plain C++ with the functions
// of the standard library and sums in float64: near enough to tell a wrong formula from rounding.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/kernels.h"
#include "tensor/half.h"

namespace ruv::oracle {

inline int8_t to_int8(float x) {
  const float r = std::nearbyint(x);
  if (!(r > -127.0F)) return -127;
  return r < 127.0F ? static_cast<int8_t>(r) : int8_t{127};
}

inline void quantize_row(const float* x, ActBlock* out, int64_t k) {
  for (int64_t b = 0; b < k / 32; ++b, x += 32) {
    float largest = 0;
    for (int i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(x[i]));
    const float inverse = largest > 0 ? 127.0F / largest : 0.0F;
    out[b].scale = largest / 127.0F;
    for (int i = 0; i < 32; ++i) out[b].q[i] = to_int8(x[i] * inverse);
    for (int h = 0; h < 2; ++h) {
      int sum = 0;
      for (int i = 0; i < 16; ++i) sum += out[b].q[16 * h + i];
      out[b].half_sum[h] = static_cast<int16_t>(sum);
    }
  }
}

inline void rms_norm(const float* x, const float* weight, float* out, int64_t n, float eps) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  const double mean = n > 0 ? sum / static_cast<double>(n) : 0;
  const auto scale = static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(eps)));
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * scale * weight[i];
}

inline void layer_norm(const float* x, const float* weight, const float* bias, float* out,
                       int64_t n, float eps) {
  if (n == 0) return;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  const double mean = sum / static_cast<double>(n);
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const double var = squares / static_cast<double>(n);
  const auto scale = static_cast<float>(1.0 / std::sqrt(var + static_cast<double>(eps)));
  for (int64_t i = 0; i < n; ++i) {
    const float y = (x[i] - static_cast<float>(mean)) * scale * weight[i];
    out[i] = bias != nullptr ? y + bias[i] : y;
  }
}

inline void add(float* x, const float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] += y[i];
}

inline float silu_of(float x) { return x / (1.0F + std::exp(-x)); }

inline float gelu_of(float x) {
  constexpr float kRootTwoOverPi = 0.79788456080286535588F;
  return 0.5F * x * (1.0F + std::tanh(kRootTwoOverPi * (x + 0.044715F * x * x * x)));
}

inline float exact_gelu_of(float x) {
  return static_cast<float>(0.5 * double{x} * std::erfc(-double{x} / std::sqrt(2.0)));
}
inline float quick_gelu_of(float x) { return x / (1.0F + std::exp(-1.702F * x)); }
inline float relu_of(float x) { return std::max(x, 0.0F); }
inline float relu2_of(float x) { return relu_of(x) * relu_of(x); }

inline float tanh_of(float x) { return std::tanh(x); }
inline float sigmoid_of(float x) { return 1.0F / (1.0F + std::exp(-x)); }

template <float (*kAct)(float)>
void gate(float* gate, const float* up, int64_t n) {
  for (int64_t i = 0; i < n; ++i) gate[i] = kAct(gate[i]) * up[i];
}
template <float (*kAct)(float)>
void activate(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = kAct(x[i]);
}

inline void xielu(float* x, int64_t n, const Xielu& a) {
  for (int64_t i = 0; i < n; ++i) {
    const float v = x[i];
    x[i] = a.slope * v +
           (v > 0 ? a.positive * v * v : a.negative * (std::expm1(std::min(v, a.last)) - v));
  }
}

inline void rope_half(float* x, const float* cos, const float* sin, int64_t n_dims) {
  const int64_t half = n_dims / 2;
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[i];
    const float b = x[i + half];
    x[i] = a * cos[i] - b * sin[i];
    x[i + half] = a * sin[i] + b * cos[i];
  }
}

inline void softcap(float* x, int64_t n, float cap) {
  for (int64_t i = 0; i < n; ++i) x[i] = cap * std::tanh(x[i] / cap);
}

inline float exp_sum(float* x, int64_t n, float max) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    x[i] = std::exp(x[i] - max);
    sum += x[i];
  }
  return static_cast<float>(sum);
}

inline float largest(const float* x, int64_t n) {
  float result = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < n; ++i) result = std::max(result, x[i]);
  return result;
}

inline void page_scores(const ScoreArgs& a) {
  for (int64_t r = 0; r < a.n_rows; ++r) {
    for (int64_t t = 0; t < a.keys.n_pages * kPageTokens; ++t) {
      const auto* keys = static_cast<const uint16_t*>(a.keys.pages[t / kPageTokens]);
      float sum = 0;
      for (int64_t d = 0; d < a.head_dim; ++d) {
        sum += a.q[r * a.q_stride + d] * f32_from_f16(keys[d * kPageTokens + t % kPageTokens]);
      }
      a.scores[r * a.scores_stride + t] = sum * a.scale;
    }
  }
}

inline void page_values(const ValueArgs& a) {
  for (int64_t r = 0; r < a.n_rows; ++r) {
    for (int64_t d = 0; d < a.head_dim; ++d) {
      float sum = 0;
      for (int64_t t = 0; t < a.values.n_pages * kPageTokens; ++t) {
        const auto* values = static_cast<const uint16_t*>(a.values.pages[t / kPageTokens]);
        sum += a.weights[r * a.weights_stride + t] *
               f32_from_f16(values[t % kPageTokens * a.head_dim + d]);
      }
      a.out[r * a.out_stride + d] = sum;
    }
  }
}

inline HeadQuant quantize_head(const float* x, int8_t* q, int64_t n) {
  float max = 0;
  for (int64_t i = 0; i < n; ++i) max = std::max(max, std::fabs(x[i]));
  float scale = max / 127.0F;
  const uint32_t bits = (std::bit_cast<uint32_t>(scale) + 0xFFFFU) & 0xFFFF0000U;
  scale = scale > 1e-36F ? std::bit_cast<float>(bits) : 0.0F;  // smaller ones have no inverse
  const float inverse = scale > 0 ? 1.0F / scale : 0.0F;
  int32_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += q[i] = to_int8(x[i] * inverse);
  return {scale, sum};
}

inline void byte_scores(const ByteScoreArgs& a) {
  const int64_t n_words = (a.head_dim + 3) / 4;
  for (int64_t r = 0; r < a.n_rows; ++r) {
    for (int64_t i = 0; i < a.keys.n_pages * kPageTokens; ++i) {
      const int64_t t = i % kPageTokens;
      const auto* keys = static_cast<const uint8_t*>(a.keys.pages[i / kPageTokens]);
      int32_t sum = 0;
      for (int64_t d = 0; d < n_words * 4; ++d) {
        sum += a.q[r * a.q_stride + d] * (keys[(d / 4 * kPageTokens + t) * 4 + d % 4] - 128);
      }
      a.scores[r * a.scores_stride + i] = static_cast<float>(sum) * a.key_scale[i] * a.q_scale[r];
    }
  }
}

inline float byte_weights(const float* scores, const float* token_scale, int16_t* out, int64_t n,
                          float max, float unit) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float p = std::exp(scores[i] - max);
    sum += p;
    out[i] = static_cast<int16_t>(std::nearbyint(p * (token_scale[i] * unit)));
  }
  return static_cast<float>(sum);
}

inline void byte_values(const ByteValueArgs& a) {
  for (int64_t r = 0; r < a.n_rows; ++r) {
    for (int64_t d = 0; d < a.head_dim; ++d) {
      int32_t sum = 0;
      for (int64_t t = 0; t < a.values.n_pages * kPageTokens; ++t) {
        const auto* values = static_cast<const int8_t*>(a.values.pages[t / kPageTokens]);
        sum += a.weights[r * a.weights_stride + t] *
               values[(t % kPageTokens / 2 * a.head_dim + d) * 2 + t % 2];
      }
      a.out[r * a.out_stride + d] = static_cast<float>(sum) * a.scale[r];
    }
  }
}

inline int key_code(const uint8_t* keys, int64_t t, int64_t d, int bits) {
  const int64_t n = 8 / bits;  // words that share bytes
  const int64_t word = d / 4;
  const int byte = keys[(word / n * kPageTokens + t) * 4 + d % 4];
  return byte >> (word % n * bits) & ((1 << bits) - 1);
}

inline int value_code(const uint32_t* values, int64_t t, int64_t d, int64_t head_dim, int bits) {
  const int64_t n = 32 / bits;  // tokens of a word
  const uint32_t word = values[t / n * head_dim + d];
  const auto shift = static_cast<uint32_t>(t % 2 * 16 + t % n / 2 * bits);
  return static_cast<int>(word >> shift & ((1U << bits) - 1));
}

inline void code_scores(const CodeScoreArgs& a) {
  for (int64_t r = 0; r < a.n_rows; ++r) {
    for (int64_t i = 0; i < a.keys.n_pages * kPageTokens; ++i) {
      const auto* keys = static_cast<const uint8_t*>(a.keys.pages[i / kPageTokens]);
      int32_t sum = 0;
      for (int64_t d = 0; d < a.head_dim; ++d) {
        const int code = key_code(keys, i % kPageTokens, d, a.bits);
        sum += a.q[r * a.q_stride + d] * (code - (1 << (a.bits - 1)));
      }
      const float scaled = static_cast<float>(sum) * a.key_scale[i];
      const float middle = a.key_middle[i] * static_cast<float>(a.q_sum[r]);
      a.scores[r * a.scores_stride + i] = (scaled + middle) * a.q_scale[r];
    }
  }
}

inline CodeWeights code_weights(const float* scores, const float* token_scale,
                                const float* token_low, int16_t* out, int64_t n, float max,
                                float unit) {
  const float sum = byte_weights(scores, token_scale, out, n, max, unit);
  double offset = 0;
  for (int64_t i = 0; i < n; ++i) offset += std::exp(scores[i] - max) * token_low[i];
  return {sum, static_cast<float>(offset)};
}

inline void code_values(const CodeValueArgs& a) {
  for (int64_t r = 0; r < a.n_rows; ++r) {
    for (int64_t d = 0; d < a.head_dim; ++d) {
      int32_t sum = 0;
      for (int64_t t = 0; t < a.values.n_pages * kPageTokens; ++t) {
        const auto* values = static_cast<const uint32_t*>(a.values.pages[t / kPageTokens]);
        sum += a.weights[r * a.weights_stride + t] *
               value_code(values, t % kPageTokens, d, a.head_dim, a.bits);
      }
      a.out[r * a.out_stride + d] = static_cast<float>(sum) * a.scale[r] + a.offset[r];
    }
  }
}

inline void blend(float* total, const float* x, int64_t n, float old, float fresh) {
  for (int64_t i = 0; i < n; ++i) total[i] = total[i] * old + x[i] * fresh;
}

inline void state_step(const StateStepArgs& a) {
  for (int64_t j = 0; j < a.n_values; ++j) {
    double memory = 0;
    double out = 0;
    for (int64_t i = 0; a.read != nullptr && i < a.n_keys; ++i) {
      memory += double{a.state[i * a.n_values + j]} * a.read[i];
    }
    if (a.read != nullptr) a.memory[j] = static_cast<float>(memory);
    for (int64_t i = 0; i < a.n_keys; ++i) {
      float& s = a.state[i * a.n_values + j];
      const double written = a.write != nullptr ? a.write[i] * memory : 0;
      s = static_cast<float>(double{a.keep[i]} * s + written + double{a.key[i]} * a.value[j]);
      out += double{s} * a.query[i];
    }
    a.out[j] = static_cast<float>(out);
  }
}

inline void scan_step(const ScanStepArgs& a) {
  for (int64_t j = 0; j < a.n_columns; ++j) {
    double out = 0;
    for (int64_t i = 0; i < a.n_states; ++i) {
      float& s = a.state[i * a.n_columns + j];
      const double keep = std::exp(double{a.rate[i * a.rate_stride + j]} * a.step[j]);
      s = static_cast<float>(keep * s + double{a.b[i]} * a.value[j]);
      out += double{s} * a.c[i];
    }
    a.out[j] = static_cast<float>(out);
  }
}

inline void to_f16(const float* x, uint16_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = f16_from_f32(x[i]);
}

inline void to_bf16(const float* x, uint16_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = bf16_from_f32(x[i]);
}

inline const Kernels kKernels = {
    .isa = "oracle",
    .gemm = {},
    .quantize_row = quantize_row,
    .rms_norm = rms_norm,
    .layer_norm = layer_norm,
    .add = add,
    .gate = {gate<silu_of>, gate<gelu_of>, gate<exact_gelu_of>, gate<quick_gelu_of>, gate<relu_of>,
             gate<relu2_of>, gate<sigmoid_of>, gate<tanh_of>},
    .activate = {activate<silu_of>, activate<gelu_of>, activate<exact_gelu_of>,
                 activate<quick_gelu_of>, activate<relu_of>, activate<relu2_of>,
                 activate<sigmoid_of>, activate<tanh_of>},
    .xielu = xielu,
    .rope_half = rope_half,
    .softcap = softcap,
    .exp_sum = exp_sum,
    .state_step = state_step,
    .scan_step = scan_step,
    .largest = largest,
    .page_scores = page_scores,
    .page_values = page_values,
    .blend = blend,
    .quantize_head = quantize_head,
    .byte_scores = byte_scores,
    .byte_weights = byte_weights,
    .byte_values = byte_values,
    .code_scores = code_scores,
    .code_weights = code_weights,
    .code_values = code_values,
    .to_f16 = to_f16,
    .to_bf16 = to_bf16,
    .int8_peak = nullptr,
    .f32_peak = nullptr,
    .bf16_peak = nullptr,
    .sum_words = nullptr,
};

}  // namespace ruv::oracle
