// ruv_bench_kernels: GB/s and GOP/s of every matmul row, beside the machine's measured read
// bandwidth and int8 peak. Weights are larger than the caches, so one row is memory-bound.
//   ruv_bench_kernels [isa] [threads] [format]
#include <cstdio>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/threads.h"
#include "kernels/kernels.h"
#include "kernels/roofline.h"
#include "tensor/format.h"

namespace ruv {
namespace {

constexpr int64_t kK = 4096;
constexpr int kPasses = 9;

struct Bench {
  const GemmKernel& row;
  WorkerPool& pool;
  std::byte* weights;
  int64_t n_groups;
  std::vector<std::byte> act;
  std::vector<float> out;
  int64_t act_stride;

  // Best seconds of kPasses multiplications by n_rows rows.
  double best_seconds(int64_t n_rows) {
    double best = 1e9;
    for (int pass = 0; pass < kPasses; ++pass) {
      const int64_t start = SteadyClock().now_ns();
      pool.run([&](int thread) {
        const Range part = part_of(n_groups, thread, pool.n_threads());
        row.run({.weights = weights + part.begin * row.group_bytes(kK),
                 .act = act.data(),
                 .out = out.data() + part.begin * row.mr,
                 .k = kK,
                 .n_groups = part.end - part.begin,
                 .n_cols = (part.end - part.begin) * row.mr,
                 .n_rows = n_rows,
                 .act_stride = act_stride,
                 .out_stride = n_groups * row.mr});
      });
      best = std::min(best, static_cast<double>(SteadyClock().now_ns() - start) * 1e-9);
    }
    return best;
  }
};

struct Roofline {
  double read_gb_s;
  double int8_gop_s;
};

void bench_row(const Kernels& table, const GemmKernel& row, WorkerPool& pool, Roofline roof) {
  const int64_t n_out = 16384;
  const int64_t groups = n_out / row.mr;
  const int64_t bytes = groups * row.group_bytes(kK);
  const Result<Buffer> buffer = Buffer::allocate(bytes);
  if (!buffer) return;
  std::byte* weights = buffer->get();
  Rng rng(1);
  std::vector<float> plain(kK);
  for (float& x : plain) x = static_cast<float>(rng.uniform()) - 0.5F;
  const Format& format = format_of(row.weight);
  std::vector<std::byte> encoded(static_cast<size_t>(format.bytes_of(kK)));
  format.encode(plain.data(), encoded.data(), kK);
  const std::vector<const std::byte*> rows(static_cast<size_t>(row.mr), encoded.data());
  const int64_t pack_start = SteadyClock().now_ns();
  for (int64_t g = 0; g < groups; ++g) {
    row.pack(weights + g * row.group_bytes(kK), rows.data(), kK);
  }
  const double pack_s = static_cast<double>(SteadyClock().now_ns() - pack_start) * 1e-9;

  constexpr int64_t kMaxRows = 512;
  Bench bench{row, pool, weights, groups, {}, {}, 0};
  bench.act_stride = row.act == ActFormat::f32 ? kK * 4 : kK / 32 * int64_t{sizeof(ActBlock)};
  bench.act.resize(static_cast<size_t>(kMaxRows * bench.act_stride));
  for (int64_t r = 0; r < kMaxRows; ++r) {
    std::byte* to = bench.act.data() + r * bench.act_stride;
    if (row.act == ActFormat::f32) {
      std::memcpy(to, plain.data(), kK * 4);
    } else {
      table.quantize_row(plain.data(), reinterpret_cast<ActBlock*>(to), kK);
    }
  }
  bench.out.resize(static_cast<size_t>(kMaxRows * n_out));
  std::printf("%-7s %-7s pack %5.2f GB/s |", table.isa, format.name,
              static_cast<double>(bytes) * 1e-9 / pack_s);
  for (const int64_t n : {1, 2, 4, 8, 512}) {
    const double s = bench.best_seconds(n);
    const double gb_s = static_cast<double>(bytes) * 1e-9 / s;
    const double gop_s = 2e-9 * static_cast<double>(n * n_out * kK) / s;
    if (n < 512)
      std::printf(" %d: %5.1f GB/s %3.0f%% |", static_cast<int>(n), gb_s,
                  100 * gb_s / roof.read_gb_s);
    if (n == 512)
      std::printf(" %d: %6.0f GOP/s %3.0f%%", static_cast<int>(n), gop_s,
                  100 * gop_s / roof.int8_gop_s);
  }
  std::printf("\n");
}

int run(const char* isa, int threads, const char* only) {
  const Kernels* table = isa != nullptr ? find_kernels(isa) : &kernels();
  if (table == nullptr) {
    std::fprintf(stderr, "this machine cannot run '%s'\n", isa);
    return 1;
  }
  WorkerPool pool(threads);
  const Roofline roof{measure_read_gb_s(threads), measure_int8_gop_s(threads)};
  std::printf("%d threads: read %.1f GB/s, int8 %.0f GOP/s (%s)\n", pool.n_threads(),
              roof.read_gb_s, roof.int8_gop_s, kernels().isa);
  for (const GemmKernel& row : table->gemm) {
    if (only == nullptr || std::string(only) == format_of(row.weight).name) {
      bench_row(*table, row, pool, roof);
    }
  }
  return 0;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  return ruv::run(argc > 1 ? argv[1] : nullptr, argc > 2 ? std::atoi(argv[2]) : 0,
                  argc > 3 ? argv[3] : nullptr);
}
