// Reference matmul: decodes the file's own blocks to float32 and sums in float32. What a weight
// format means comes from tensor/format.h alone, so this is the oracle of every other table.
#include "kernels/ref/ref_gemm.h"

#include <algorithm>
#include <cstring>

#include "tensor/format.h"

namespace ruv {
namespace {

constexpr int64_t kChunk = 256;  // numbers decoded at a time; a multiple of every block size
constexpr int kRowBlock = 16;    // activation rows that share one decoded chunk
constexpr int kLanes = 8;        // partial sums per output, by k mod 8

template <DType kType>
int64_t row_bytes(int64_t k) {
  return format_of(kType).bytes_of(k);
}

template <DType kType>
void copy_row(std::byte* group, const std::byte* const* rows, int64_t k) {
  const auto n = static_cast<size_t>(row_bytes<kType>(k));
  if (rows[0] != nullptr) {
    std::memcpy(group, rows[0], n);
  } else {
    std::memset(group, 0, n);
  }
}

// Activations [at, at + n) of one row as float32.
const float* activations(ActFormat format, const std::byte* row, int64_t at, int64_t n,
                         float* buffer) {
  if (format == ActFormat::f32) {
    std::memcpy(buffer, row + at * int64_t{sizeof(float)}, static_cast<size_t>(n) * sizeof(float));
    return buffer;
  }
  for (int64_t i = 0; i < n; i += 32) {
    ActBlock block;
    std::memcpy(&block, row + (at + i) / 32 * int64_t{sizeof(ActBlock)}, sizeof block);
    for (int j = 0; j < 32; ++j) buffer[i + j] = block.scale * static_cast<float>(block.q[j]);
  }
  return buffer;
}

void add_products(float* sums, const float* w, const float* x, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) sums[j] += w[i + j] * x[i + j];
  }
  for (int j = 0; i + j < n; ++j) sums[j] += w[i + j] * x[i + j];
}

float total(const float* s) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

template <DType kType, ActFormat kAct>
void run_rows(const GemmArgs& args, int64_t group, int64_t first, int n_rows) {
  const Format& format = format_of(kType);
  const std::byte* weights = args.weights + group * format.bytes_of(args.k);
  float w[kChunk];
  float x[kChunk];
  float sums[kRowBlock][kLanes] = {};
  for (int64_t at = 0; at < args.k; at += kChunk) {
    const int64_t n = std::min(kChunk, args.k - at);
    format.decode(weights + format.bytes_of(at), w, n);
    for (int r = 0; r < n_rows; ++r) {
      const std::byte* row = args.act + (first + r) * args.act_stride;
      add_products(sums[r], w, activations(kAct, row, at, n, x), n);
    }
  }
  for (int r = 0; r < n_rows; ++r) args.out[(first + r) * args.out_stride + group] = total(sums[r]);
}

template <DType kType, ActFormat kAct>
void run(const GemmArgs& args) {
  for (int64_t group = 0; group < std::min(args.n_groups, args.n_cols); ++group) {
    for (int64_t row = 0; row < args.n_rows; row += kRowBlock) {
      const auto n = static_cast<int>(std::min<int64_t>(kRowBlock, args.n_rows - row));
      run_rows<kType, kAct>(args, group, row, n);
    }
  }
}

template <DType kType, ActFormat kAct>
constexpr GemmKernel row() {
  return {kType, kAct, 1, row_bytes<kType>, copy_row<kType>, run<kType, kAct>};
}

constexpr GemmKernel kRows[] = {
    row<DType::f32, ActFormat::f32>(),   row<DType::f16, ActFormat::f32>(),
    row<DType::bf16, ActFormat::f32>(),  row<DType::q4_0, ActFormat::q8>(),
    row<DType::q4_1, ActFormat::q8>(),   row<DType::q5_0, ActFormat::q8>(),
    row<DType::q5_1, ActFormat::q8>(),   row<DType::q8_0, ActFormat::q8>(),
    row<DType::q2_k, ActFormat::q8>(),   row<DType::q3_k, ActFormat::q8>(),
    row<DType::q4_k, ActFormat::q8>(),   row<DType::q5_k, ActFormat::q8>(),
    row<DType::q6_k, ActFormat::q8>(),   row<DType::iq4_nl, ActFormat::q8>(),
    row<DType::iq4_xs, ActFormat::q8>(),
};

}  // namespace

std::span<const GemmKernel> ref_gemm() { return kRows; }

}  // namespace ruv
