// Kernels: one table of function pointers per instruction set. A null entry is filled from the
// reference table, which is the meaning; all tables pass the same parity suite.
//
// Bit identity (docs/ARCHITECTURE.md, "same bytes"): every output number is computed by one fixed
// sequence of operations along K that does not depend on how many rows, groups or threads run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/dtype.h"
#include "tensor/nonlinear.h"
#include "tensor/page.h"

namespace ruv {

// What the activations of a matmul look like in memory.
enum class ActFormat : uint8_t {
  f32,   // k float32 per row
  bf16,  // k bf16 per row, and one more that is zero where k is odd
  q8,    // k/32 blocks of ActBlock per row: int8 with one float32 scale and the block's sums
};

// 32 activations quantised symmetrically: value = scale · q[i], q in [-127, 127], rounded to
// nearest even with scale = max|x| / 127. half_sum[h] = Σ q[16h + i], i < 16: offset weights need
// it, and two int16 side by side are what one multiply-add-pairs instruction takes.
struct ActBlock {
  float scale;
  int16_t half_sum[2];
  int8_t q[32];
};
static_assert(sizeof(ActBlock) == 40);

// One call of a matmul kernel: groups [0, n_groups) of `mr` weight rows against n_rows activation
// rows. out[row · out_stride + group · mr + lane] is written for every lane whose column is below
// n_cols; n_cols counts from the first group given.
struct GemmArgs {
  const std::byte* weights;  // first packed group
  const std::byte* act;      // first activation row
  float* out;
  int64_t k;  // numbers along the shared dimension
  int64_t n_groups;
  int64_t n_cols;  // valid output columns, <= n_groups · mr
  int64_t n_rows;
  int64_t act_stride;  // bytes between activation rows
  int64_t out_stride;  // float32 between output rows
  // Bytes from the weights that are multiplied to those that are asked for meanwhile. Results do
  // not depend on it; too few and memory is waited for, too many and they are gone when needed.
  int64_t ahead = 0;
};

// How one weight format is stored and multiplied on one instruction set. Weights are packed in
// groups of `mr` rows; out = W · act along k.
struct GemmKernel {
  DType weight;
  ActFormat act;
  int mr;  // weight rows in a group
  // Bytes of one packed group. Requires: k a multiple of the format's block size.
  int64_t (*group_bytes)(int64_t k);
  // Packs mr rows in the file's block format into one group. rows[i] null: a row of zeros. A group
  // of float32 is its numbers as (k, mr).
  void (*pack)(std::byte* group, const std::byte* const* rows, int64_t k);
  void (*run)(const GemmArgs& args);
  // GemmArgs::ahead that was best where the kernel was measured.
  int64_t ahead = 0;
};

// Attention works on pages of kPageTokens tokens. Keys of one page and head are stored transposed
// (head_dim, kPageTokens), values (kPageTokens, head_dim), both f16.

// Pages of one head in the order of their positions, followed by n_ahead pages that later calls
// will read: a kernel asks for them early, because pages lie anywhere.
struct PageRun {
  const void* const* pages;
  int64_t n_pages;
  int64_t n_ahead;
};

// scores[r · scores_stride + t] = Σ_d q[r · q_stride + d] · key(t)[d] · scale, all tokens t of the
// pages, in order of d.
struct ScoreArgs {
  const float* q;
  int64_t q_stride;
  PageRun keys;
  float* scores;
  int64_t scores_stride;
  int64_t n_rows;
  int64_t head_dim;
  float scale;
};

// out[r · out_stride + d] = Σ_t weights[r · weights_stride + t] · value(t)[d], in order of t.
struct ValueArgs {
  const float* weights;
  int64_t weights_stride;
  PageRun values;
  float* out;
  int64_t out_stride;
  int64_t n_rows;
  int64_t head_dim;
};

// Attention over int8 pages. Keys of one page and head are bytes key + 128 in words of four
// dimensions (ceil(head_dim / 4), kPageTokens, 4), values signed bytes in pairs of tokens
// (kPageTokens / 2, head_dim, 2). Scales, one per token, are given apart.
struct HeadQuant {
  float scale;  // max|x| / 127, rounded up to bf16
  int32_t sum;  // of the bytes: an offset of the other factor takes it back
};

// scores[r · scores_stride + t] = Σ_d q[r · q_stride + d] · key(t)[d], exact, · scale(t)
// · q_scale[r]. Query rows are filled up with zeros to a multiple of four.
struct ByteScoreArgs {
  const int8_t* q;
  int64_t q_stride;
  const float* q_scale;
  const int32_t* q_sum;
  PageRun keys;
  const float* key_scale;  // of every token of the pages
  float* scores;
  int64_t scores_stride;
  int64_t n_rows;
  int64_t head_dim;
};

// out[r · out_stride + d] = Σ_t weights[r · weights_stride + t] · value(t)[d], exact, · scale[r].
// Requires: at most 256 tokens, so that the sums stay in int32.
struct ByteValueArgs {
  const int16_t* weights;
  int64_t weights_stride;
  const float* scale;
  PageRun values;
  float* out;
  int64_t out_stride;
  int64_t n_rows;
  int64_t head_dim;
};

// Attention over pages of unsigned codes of `bits` (4 or 2) bits. Keys are words of four dimensions
// as of int8 pages; n = 8 / bits words share 64 bytes, word w is at bit w % n · bits of the bytes
// of block w / n: (ceil(head_dim / 4n), kPageTokens, 4). Values: a 32-bit word holds 32 / bits
// tokens of one dimension, token 2i at bit i · bits of its low half, token 2i + 1 of its high half:
// (kPageTokens · bits / 32, head_dim).

// scores[r · scores_stride + t] = (Σ_d q[r · q_stride + d] · (code(t)[d] - 2^(bits - 1)), exact,
// · key_scale[t] + key_middle[t] · q_sum[r]) · q_scale[r]. Query rows are filled up with zeros to a
// multiple of 4n.
struct CodeScoreArgs {
  const int8_t* q;
  int64_t q_stride;
  const float* q_scale;
  const int32_t* q_sum;
  PageRun keys;
  const float* key_scale;
  const float* key_middle;
  float* scores;
  int64_t scores_stride;
  int64_t n_rows;
  int64_t head_dim;
  int bits;
};

// out[r · out_stride + d] = Σ_t weights[r · weights_stride + t] · code(t)[d], exact, · scale[r]
// + offset[r]. Requires: at most 256 tokens.
struct CodeValueArgs {
  const int16_t* weights;
  int64_t weights_stride;
  const float* scale;
  const float* offset;
  PageRun values;
  float* out;
  int64_t out_stride;
  int64_t n_rows;
  int64_t head_dim;
  int bits;
};

// A linear attention's matrix S (n_keys, n_values) takes in one token:
//   memory[j] = Σ_i S[i][j] · read[i]
//   S[i][j]   = keep[i] · S[i][j] + write[i] · memory[j] + key[i] · value[j]
//   out[j]    = Σ_i S[i][j] · query[i]
// in this order, every sum along i, products after the first added by fma. Without `read` there is
// no memory; without `write` (which needs `read`) it is computed but changes nothing. `memory` and
// `out` hold n_values numbers and overlap nothing.
struct StateStepArgs {
  float* state;
  int64_t n_keys;
  int64_t n_values;
  const float* read;
  const float* keep;
  const float* write;
  const float* key;
  const float* value;
  const float* query;
  float* memory;
  float* out;
};

// A selective scan's state S (n_states, n_columns) takes in one token:
//   S[i][j] = exp(rate[i · rate_stride + j] · step[j]) · S[i][j] + b[i] · value[j]
//   out[j]  = Σ_i S[i][j] · c[i]
// in this order, the sum along i, sums after a product by fma. `out` holds n_columns numbers and
// overlaps nothing.
struct ScanStepArgs {
  float* state;
  int64_t n_states;
  int64_t n_columns;
  const float* rate;
  int64_t rate_stride;
  const float* step;
  const float* value;
  const float* b;
  const float* c;
  float* out;
};

struct CodeWeights {
  float sum;     // Σ p
  float offset;  // Σ p · token_low
};

struct Kernels {
  // "ref", "avx2", "avxvnni", "avx512bw", "avx512", "avx512bf16", "neon", "neon_i8mm"
  const char* isa = nullptr;
  // It computes the bytes that every other table with this computes. Only avx512bf16 does not: it
  // multiplies bf16 weights, and f16 weights rounded to bf16, by activations rounded to bf16.
  bool portable = true;
  std::span<const GemmKernel> gemm = {};

  // k float32 to k/32 ActBlock. Requires: k a multiple of 32.
  void (*quantize_row)(const float* x, ActBlock* out, int64_t k) = nullptr;
  // out = x / sqrt(mean(x²) + eps) · weight, float32 (n). out may be x.
  void (*rms_norm)(const float* x, const float* weight, float* out, int64_t n, float eps) = nullptr;
  // out = (x - mean) / sqrt(var + eps) · weight + bias. bias may be null. out may be x.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float* out, int64_t n,
                     float eps) = nullptr;
  // x += y
  void (*add)(float* x, const float* y, int64_t n) = nullptr;
  // By Act: gate = act(gate) · up, and x = act(x). SiLU x·σ(x), tanh GELU
  // 0.5x(1+tanh(√(2/π)(x+0.044715x³))), GELU 0.5x(1+erf(x/√2)), quick GELU x·σ(1.702x), sigmoid
  // σ(x), tanh.
  std::array<void (*)(float* gate, const float* up, int64_t n), kActs> gate = {};
  std::array<void (*)(float* x, int64_t n), kActs> activate = {};
  void (*xielu)(float* x, int64_t n, const Xielu& numbers) = nullptr;
  // Rotates pairs (x[i], x[i + n_dims/2]), i < n_dims/2, of one head by (cos[i], sin[i]).
  void (*rope_half)(float* x, const float* cos, const float* sin, int64_t n_dims) = nullptr;
  // x = cap · tanh(x / cap)
  void (*softcap)(float* x, int64_t n, float cap) = nullptr;
  // x[i] = exp(x[i] - max), returns the sum in a fixed order that
  // entries of -infinity at the end do not change. n a multiple of kPageTokens.
  float (*exp_sum)(float* x, int64_t n, float max) = nullptr;

  void (*state_step)(const StateStepArgs& args) = nullptr;
  void (*scan_step)(const ScanStepArgs& args) = nullptr;
  // The greatest of n numbers, -infinity when n is 0. n a multiple of kPageTokens.
  float (*largest)(const float* x, int64_t n) = nullptr;
  void (*page_scores)(const ScoreArgs& args) = nullptr;
  void (*page_values)(const ValueArgs& args) = nullptr;
  // total = total · old + x · fresh
  void (*blend)(float* total, const float* x, int64_t n, float old, float fresh) = nullptr;
  // n float32 to int8 in [-127, 127], rounded to nearest even.
  HeadQuant (*quantize_head)(const float* x, int8_t* q, int64_t n) = nullptr;
  void (*byte_scores)(const ByteScoreArgs& args) = nullptr;
  // p[i] = exp(scores[i] - max); out[i] = p[i] · token_scale[i] · unit rounded to int16; returns
  // Σ p as exp_sum does. Requires: scores[i] <= max, token_scale[i] · unit in [0, 32767].
  float (*byte_weights)(const float* scores, const float* token_scale, int16_t* out, int64_t n,
                        float max, float unit) = nullptr;
  void (*byte_values)(const ByteValueArgs& args) = nullptr;
  void (*code_scores)(const CodeScoreArgs& args) = nullptr;
  // byte_weights, and the sum that the least values of the tokens give.
  CodeWeights (*code_weights)(const float* scores, const float* token_scale, const float* token_low,
                              int16_t* out, int64_t n, float max, float unit) = nullptr;
  void (*code_values)(const CodeValueArgs& args) = nullptr;
  // n float32 to f16, round to nearest even.
  void (*to_f16)(const float* x, uint16_t* out, int64_t n) = nullptr;
  // n float32 to bf16, round to nearest even.
  void (*to_bf16)(const float* x, uint16_t* out, int64_t n) = nullptr;
  // Runs `rounds` rounds of independent int8 dot products and returns the multiply-adds done; the
  // fastest this instruction set multiplies int8, for rooflines. *sink keeps the work alive.
  int64_t (*int8_peak)(int64_t rounds, int32_t* sink) = nullptr;
  // The same of float32 multiply-adds, and of bf16 pairs added up in float32; the latter is null
  // where the machine has no such instruction.
  int64_t (*f32_peak)(int64_t rounds, float* sink) = nullptr;
  int64_t (*bf16_peak)(int64_t rounds, float* sink) = nullptr;
  // Sum of n words, read as fast as this instruction set reads; for rooflines. n a multiple of 64.
  uint64_t (*sum_words)(const uint64_t* words, int64_t n) = nullptr;
};

// Whether only the reference can run here though this processor has more: the kernels were built
// for another one (RUV_KERNELS=native).
bool is_for_another_processor();

// The best table this machine can run, chosen once; RUV_ISA=<its name> forces one that can run here
// (an unknown or impossible name is ignored by the library; programs check find_kernels themselves
// and refuse).
const Kernels& kernels();
// The same among the portable tables: kernels() where that is one.
const Kernels& portable_kernels();
// Every table this machine can run, reference first.
std::span<const Kernels* const> all_kernels();
// Null when this machine cannot run it.
const Kernels* find_kernels(std::string_view isa);

// The row for a weight format, or null: then the device decodes to float32 as it goes.
const GemmKernel* find_gemm(const Kernels& kernels, DType weight);

}  // namespace ruv
