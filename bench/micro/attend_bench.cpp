// ruv_bench_attend: attention alone. Decode (one row) in GB/s of keys and values read, beside the
// machine's read bandwidth; prefill (512 rows) in GFLOP/s of the visible keys.
//   ruv_bench_attend [isa] [threads] [decode|prefill|both] [f16|int8] [depth ...]
#include <cstdio>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "device/batch_builder.h"
#include "device/cpu/cpu_ops.h"
#include "kernels/roofline.h"

namespace ruv {
namespace {

constexpr int64_t kMaxRows = 512;
constexpr int64_t kLayers = 4;  // together larger than the caches at long context

struct HeadShape {
  const char* name;
  int64_t n_heads, n_kv_heads, head_dim;
};
constexpr HeadShape kShapes[] = {
    {"llama-1b", 32, 8, 64}, {"qwen-0.5b", 14, 2, 64}, {"qwen-3b", 16, 2, 128}};

class Bench {
 public:
  Bench(const Kernels& table, const HeadShape& shape, WorkerPool& pool, int64_t n_tokens,
        KvType type)
      : shape_(shape),
        pages_(std::move(*KvPages::create(
            CacheLayout::uniform(kLayers, {shape.n_kv_heads, shape.head_dim, shape.head_dim, type}),
            pages_for(n_tokens)))),
        ops_(std::move(
            *CpuOps::create(table, pool, pages_,
                            {kMaxRows, 64, shape.head_dim, shape.n_heads / shape.n_kv_heads}))) {
    for (PageId page = 0; page < pages_.n_pages(); ++page) ids_.push_back(page);
    Rng rng(1);
    k_.resize(static_cast<size_t>(kMaxRows * shape.n_kv_heads * shape.head_dim));
    for (float& x : k_) x = static_cast<float>(rng.uniform() * 2 - 1);
    q_.resize(static_cast<size_t>(kMaxRows * shape.n_heads * shape.head_dim));
    for (float& x : q_) x = static_cast<float>(rng.uniform() * 2 - 1);
    out_.resize(q_.size());
    const int64_t cols = shape.n_kv_heads * shape.head_dim;
    for (int64_t at = 0; at < n_tokens; at += kMaxRows) {
      const int64_t n = std::min(kMaxRows, n_tokens - at);
      begin(at, n);
      for (int64_t layer = 0; layer < kLayers; ++layer) {
        ops_->store_kv(layer, view(k_, n, cols), view(k_, n, cols), {});
      }
    }
  }

  // Best seconds of one layer's attention: n_rows rows, the last of them at position depth - 1.
  double best_seconds(int64_t depth, int64_t n_rows, int n_passes) {
    begin(depth - n_rows, n_rows);
    const int64_t cols = shape_.n_heads * shape_.head_dim;
    double best = 1e9;
    for (int pass = 0; pass < n_passes; ++pass) {
      const int64_t start = SteadyClock().now_ns();
      for (int64_t layer = 0; layer < kLayers; ++layer) {
        ops_->attend(view(out_, n_rows, cols), view(q_, n_rows, cols),
                     {.layer = layer,
                      .n_heads = shape_.n_heads,
                      .n_kv_heads = shape_.n_kv_heads,
                      .key_dim = shape_.head_dim,
                      .value_dim = shape_.head_dim,
                      .scale = 0.125F});
      }
      best = std::min(best, static_cast<double>(SteadyClock().now_ns() - start) * 1e-9);
    }
    return best / kLayers;
  }

  double bytes_per_token() const {
    return static_cast<double>(pages_.layout().bytes_per_token()) / kLayers;
  }

 private:
  // The CPU's addresses are pointers.
  static View view(const std::vector<float>& numbers, int64_t n_rows, int64_t n_cols) {
    return {CpuDevice(kernels()).address(numbers.data()), n_rows, n_cols};
  }
  void begin(int64_t first, int64_t n) {
    batch_.clear();
    batch_.begin_sequence(first, ids_);
    for (int64_t i = 0; i < n; ++i) batch_.add(0);
    ops_->begin(batch_.batch(), {});
  }

  HeadShape shape_;
  KvPages pages_;
  std::unique_ptr<CpuOps> ops_;
  std::vector<PageId> ids_;
  std::vector<float> k_, q_, out_;
  BatchBuilder batch_;
};

struct Wanted {
  bool decode = true;
  bool prefill = true;
  KvType type = KvType::f16;
  std::vector<int64_t> depths;
};

void bench_shape(const Kernels& table, const HeadShape& shape, WorkerPool& pool, double read_gb_s,
                 const Wanted& what) {
  Bench bench(table, shape, pool, *std::max_element(what.depths.begin(), what.depths.end()),
              what.type);
  for (const int64_t depth : what.depths) {
    std::printf("%-9s depth %6lld", shape.name, static_cast<long long>(depth));
    if (what.decode) {
      const int n_passes = depth > 2048 ? 15 : 300;
      const double one = bench.best_seconds(depth, 1, n_passes);
      const double gb_s = bench.bytes_per_token() * static_cast<double>(depth) * 1e-9 / one;
      std::printf(" | decode %8.1f us %5.1f GB/s %3.0f%%", one * 1e6, gb_s, 100 * gb_s / read_gb_s);
    }
    if (what.prefill) {
      const int64_t rows = std::min(kMaxRows, depth);
      const double many = bench.best_seconds(depth, rows, 2);
      const double keys = static_cast<double>(rows) * static_cast<double>(2 * depth - rows + 1) / 2;
      const double flops = 4 * keys * static_cast<double>(shape.n_heads * shape.head_dim);
      std::printf(" | prefill %7.0f GFLOP/s", flops * 1e-9 / many);
    }
    std::printf("\n");
  }
}

int run(const char* isa, int threads, Wanted what) {
  const Kernels* table = isa != nullptr ? find_kernels(isa) : &kernels();
  if (table == nullptr) {
    std::fprintf(stderr, "this machine cannot run '%s'\n", isa);
    return 1;
  }
  WorkerPool pool(threads);
  const double read_gb_s = measure_read_gb_s(threads);
  std::printf("%s, %d threads: read %.1f GB/s\n", table->isa, pool.n_threads(), read_gb_s);
  if (what.depths.empty()) what.depths = {256, 4096, 16384};
  for (const HeadShape& shape : kShapes) bench_shape(*table, shape, pool, read_gb_s, what);
  return 0;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  ruv::Wanted what;
  const std::string mode = argc > 3 ? argv[3] : "both";
  what.decode = mode != "prefill";
  what.prefill = mode != "decode";
  what.type = argc > 4 && std::string(argv[4]) == "int8" ? ruv::KvType::int8 : ruv::KvType::f16;
  for (int i = 5; i < argc; ++i) what.depths.push_back(std::atoll(argv[i]));
  return ruv::run(argc > 1 ? argv[1] : nullptr, argc > 2 ? std::atoi(argv[2]) : 0, what);
}
