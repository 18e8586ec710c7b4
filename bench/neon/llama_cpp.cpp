// llama.cpp's matmul kernels for 64-bit Arm under an instruction counter (bench/neon/count.py,
// which compiles them from their own source), on random weights.
//   llama_cpp count|check matmul|dot FORMAT ROWS...
// `matmul` calls the kernels that llama.cpp's matmul calls by default for a processor with the
// compiler's flags, which are those of weights that it repacks as it loads them, where there are
// any; `dot` calls the dot product of one row or two, in the same tiles as its matmul does. `check`
// compares with llama.cpp's portable functions instead of counting.
#include <cstring>
#include <string_view>
#include <vector>

#include "counted.h"
#include "ggml-cpu-impl.h"
#include "ggml-quants.h"
#include "llamafile/sgemm.h"
#include "quants.h"
#include "repack.h"
#include "vec.h"

// What the kernels call of the rest of llama.cpp, for one thread.
extern "C" {
void ggml_barrier(ggml_threadpool* /*pool*/) {}
static int next_chunk = 0;
void ggml_threadpool_chunk_set(ggml_threadpool* /*pool*/, int value) { next_chunk = value; }
int ggml_threadpool_chunk_add(ggml_threadpool* /*pool*/, int value) {
  next_chunk += value;
  return next_chunk - value;
}
void ggml_log_internal(ggml_log_level /*level*/, const char* /*format*/, ...) {}
void ggml_abort(const char* file, int line, const char* /*format*/, ...) {
  std::fprintf(stderr, "llama_cpp: aborted by %s:%d\n", file, line);
  std::abort();
}
}

namespace ruv {
namespace {

using counted::kColumns;
using counted::kK;

using Dot = void(int n, float* s, size_t bs, const void* x, size_t bx, const void* y, size_t by,
                 int nrc);
using Matmul = void(int n, float* s, size_t bs, const void* x, const void* y, int nr, int nc);
using Quantise = void(const float* x, void* y, int64_t k);

#if defined(__ARM_FEATURE_MATMUL_INT8)
constexpr bool kI8mm = true;
#else
constexpr bool kI8mm = false;
#endif

// Kernels of weights whose columns are interleaved.
struct Repacked {
  Matmul* one_row;
  Matmul* four_rows;
  Matmul* plain_one_row;
  Matmul* plain_four_rows;
  Quantise* quantise_four_rows;
};

struct Kernel {
  const char* format;
  int64_t row_bytes;  // of kK weights
  int64_t act_bytes;  // of kK activations
  Quantise* quantise;
  Dot* dot;
  Dot* plain_dot;  // null: the numbers are f16
  int dot_rows;    // and columns, at most, of one call of `dot`
  Repacked repacked;
};

#define RUV_REPACKED(format, shape, act, quantise)                                           \
  {                                                                                          \
    ggml_gemv_##format##_##shape##_##act, ggml_gemm_##format##_##shape##_##act,              \
        ggml_gemv_##format##_##shape##_##act##_generic,                                      \
        ggml_gemm_##format##_##shape##_##act##_generic, ggml_quantize_mat_##act##_##quantise \
  }
// The shapes without and with the matrix instructions.
#define RUV_EITHER(format, dots, matrices, act)              \
  (kI8mm ? Repacked RUV_REPACKED(format, matrices, act, 4x8) \
         : Repacked RUV_REPACKED(format, dots, act, 4x4))
#define RUV_DOTS(format, act) ggml_vec_dot_##format##_##act, ggml_vec_dot_##format##_##act##_generic

template <class Block>
constexpr int64_t bytes_of(int64_t block_size) {
  return kK / block_size * static_cast<int64_t>(sizeof(Block));
}

void to_halves(const float* x, void* y, int64_t k) {
  for (int64_t i = 0; i < k; ++i) static_cast<__fp16*>(y)[i] = static_cast<__fp16>(x[i]);
}

constexpr int64_t kQ8 = bytes_of<block_q8_0>(32);
constexpr int64_t kQ8K = bytes_of<block_q8_K>(256);
constexpr int kPair = kI8mm ? 2 : 1;

const Kernel kKernels[] = {
    {"q8_0", bytes_of<block_q8_0>(32), kQ8, quantize_row_q8_0, RUV_DOTS(q8_0, q8_0), kPair,
     RUV_EITHER(q8_0, 4x4, 4x8, q8_0)},
    {"q4_0", bytes_of<block_q4_0>(32), kQ8, quantize_row_q8_0, RUV_DOTS(q4_0, q8_0), kPair,
     RUV_EITHER(q4_0, 4x4, 4x8, q8_0)},
    {"q4_k", bytes_of<block_q4_K>(256), kQ8K, quantize_row_q8_K, RUV_DOTS(q4_K, q8_K), kPair,
     RUV_EITHER(q4_K, 8x4, 8x8, q8_K)},
    {"q5_k", bytes_of<block_q5_K>(256), kQ8K, quantize_row_q8_K, RUV_DOTS(q5_K, q8_K), 1,
     RUV_EITHER(q5_K, 8x4, 8x8, q8_K)},
    {"q6_k", bytes_of<block_q6_K>(256), kQ8K, quantize_row_q8_K, RUV_DOTS(q6_K, q8_K), kPair,
     RUV_EITHER(q6_K, 8x4, 8x8, q8_K)},
    {"iq4_nl", bytes_of<block_iq4_nl>(32), kQ8, quantize_row_q8_0, RUV_DOTS(iq4_nl, q8_0), 1,
     RUV_REPACKED(iq4_nl, 4x4, q8_0, 4x4)},
    {"iq4_xs", bytes_of<block_iq4_xs>(256), kQ8K, quantize_row_q8_K, RUV_DOTS(iq4_xs, q8_K), 1, {}},
    {"f16", kK * 2, kK * 2, to_halves, reinterpret_cast<Dot*>(ggml_vec_dot_f16), nullptr, 1, {}},
};

struct Work {
  const Kernel& kernel;
  bool by_dots;
  int64_t n_rows;
  const std::byte* weights;
  const std::byte* act;
  float* out;
};

// In tiles of 16 by 16, as ggml_compute_forward_mul_mat has them.
void multiply_dots(const Work& w, Dot* dot, int64_t at_once) {
  constexpr int64_t kTile = 16;
  const Kernel& k = w.kernel;
  float tile[2 * kTile];
  for (int64_t row0 = 0; row0 < w.n_rows; row0 += kTile) {
    for (int64_t column0 = 0; column0 < kColumns; column0 += kTile) {
      for (int64_t row = row0; row < row0 + kTile && row < w.n_rows; row += at_once) {
        for (int64_t column = 0; column < kTile; column += at_once) {
          dot(kK, tile + column, at_once > 1 ? kTile : 0,
              w.weights + (column0 + column) * k.row_bytes, at_once > 1 ? k.row_bytes : 0,
              w.act + row * k.act_bytes, at_once > 1 ? k.act_bytes : 0, static_cast<int>(at_once));
        }
        for (int64_t i = 0; i < at_once; ++i)
          std::memcpy(w.out + (row + i) * kColumns + column0, tile + i * kTile,
                      kTile * sizeof(float));
      }
    }
  }
}

void multiply_repacked(const Work& w, Matmul* one_row, Matmul* four_rows) {
  const int64_t fours = w.n_rows > 3 ? w.n_rows - w.n_rows % 4 : 0;
  if (fours > 0)
    four_rows(kK, w.out, kColumns, w.weights, w.act, static_cast<int>(fours), kColumns);
  for (int64_t row = fours; row < w.n_rows; ++row)
    one_row(kK, w.out + row * kColumns, kColumns, w.weights, w.act + row * w.kernel.act_bytes, 1,
            kColumns);
}

// False where llama.cpp would multiply by dots.
bool multiply_floats(const Work& w) {
  ggml_compute_params params{};
  params.nth = 1;
  return llamafile_sgemm(&params, kColumns, w.n_rows, kK, w.weights, kK, w.act, kK, w.out, kColumns,
                         GGML_TYPE_F16, GGML_TYPE_F16, GGML_TYPE_F32);
}

void multiply(const Work& w) {
  const Repacked& repacked = w.kernel.repacked;
  if (!w.by_dots && repacked.one_row != nullptr)
    return multiply_repacked(w, repacked.one_row, repacked.four_rows);
  const bool is_float = w.kernel.quantise == to_halves;
  if (!w.by_dots && is_float && multiply_floats(w)) return;
  multiply_dots(w, w.kernel.dot, w.n_rows % 2 == 0 ? w.kernel.dot_rows : 1);
}

void multiply_halves(const Work& w) {
  for (int64_t row = 0; row < w.n_rows; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      const auto* x = reinterpret_cast<const __fp16*>(w.weights) + column * kK;
      const auto* y = reinterpret_cast<const __fp16*>(w.act) + row * kK;
      double sum = 0;
      for (int64_t i = 0; i < kK; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
      w.out[row * kColumns + column] = static_cast<float>(sum);
    }
  }
}

void multiply_plainly(const Work& w) {
  const Repacked& repacked = w.kernel.repacked;
  if (!w.by_dots && repacked.one_row != nullptr)
    return multiply_repacked(w, repacked.plain_one_row, repacked.plain_four_rows);
  if (w.kernel.plain_dot == nullptr) return multiply_halves(w);
  multiply_dots(w, w.kernel.plain_dot, 1);
}

std::vector<std::byte> quantised(const Kernel& kernel, bool by_dots, int64_t n_rows) {
  const std::vector<float> x = counted::random_activations(n_rows);
  std::vector<std::byte> act(static_cast<size_t>(n_rows * kernel.act_bytes));
  int64_t row = 0;
  if (!by_dots && kernel.repacked.one_row != nullptr) {
    for (; n_rows - row >= 4; row += 4)
      kernel.repacked.quantise_four_rows(x.data() + row * kK, act.data() + row * kernel.act_bytes,
                                         kK);
  }
  for (; row < n_rows; ++row)
    kernel.quantise(x.data() + row * kK, act.data() + row * kernel.act_bytes, kK);
  return act;
}

int run(bool checks, bool by_dots, const Kernel& kernel, int64_t n_rows) {
  const std::vector<std::byte> weights = counted::random_bytes(kColumns * kernel.row_bytes);
  const std::vector<std::byte> act = quantised(kernel, by_dots, n_rows);
  std::vector<float> out(static_cast<size_t>(n_rows * kColumns));
  const Work work{kernel, by_dots, n_rows, weights.data(), act.data(), out.data()};
  if (!checks) {
    counted::count(by_dots ? "dot" : "matmul", n_rows, [&] { multiply(work); });
    return 0;
  }
  multiply(work);
  std::vector<float> expected(out.size());
  Work plain = work;
  plain.out = expected.data();
  multiply_plainly(plain);
  // Products of f16 are added in f16.
  const double allowed = kernel.quantise == to_halves ? 2e-2 : 1e-4;
  const double error = counted::relative_error(out, expected);
  if (error <= allowed) return 0;
  std::fprintf(stderr, "llama_cpp: %s, %lld rows: %g off its portable function\n", kernel.format,
               static_cast<long long>(n_rows), error);
  return 1;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const std::string_view kind = argc > 2 ? argv[2] : "";
  if (argc < 5 || (what != "count" && what != "check") || (kind != "matmul" && kind != "dot")) {
    std::fputs("llama_cpp count|check matmul|dot FORMAT ROWS...\n", stderr);
    return 2;
  }
  for (const ruv::Kernel& kernel : ruv::kKernels) {
    if (std::string_view(argv[3]) != kernel.format) continue;
    for (int i = 4; i < argc; ++i) {
      if (ruv::run(what == "check", kind == "dot", kernel, std::atoll(argv[i])) != 0) return 1;
    }
    return 0;
  }
  std::fprintf(stderr, "llama_cpp: there is no such format: %s\n", argv[3]);
  return 1;
}
