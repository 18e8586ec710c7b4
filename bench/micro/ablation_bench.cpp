// ruv_bench_ablation: what a matmul kernel waits for. One row: GB/s of packed weights that are only
// read, read and unpacked, and multiplied, from memory and from a matrix in the second-level cache.
// Many rows: GOP/s of a panel in the first-level cache, of 512 rows of one matrix, and of int8
// products alone. The steps of a format take turns, and medians of rounds are printed.
//   ruv_bench_ablation [threads] [--markdown]
#include <cstdio>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "ablation.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/worker_pool.h"
#include "kernels/roofline.h"
#include "tensor/format.h"

namespace ruv {
namespace {

constexpr int64_t kK = 2048;
constexpr int64_t kColumns = 2048;
constexpr int64_t kSmallColumns = 64;
constexpr int64_t kManyRows = 512;
constexpr int64_t kWorkingSet = int64_t{192} << 20;
constexpr int kRounds = 11;

using Kernel = void (*)(const GemmArgs& args);

double seconds_of(const std::function<void()>& work) {
  const int64_t start = SteadyClock().now_ns();
  work();
  return static_cast<double>(SteadyClock().now_ns() - start) * 1e-9;
}

double median(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

// Copies of one random matrix of a format, and activations.
class AblationBench {
 public:
  AblationBench(const AblationRow& row, const Kernels& table, WorkerPool& pool)
      : row_(row), pool_(pool), act_(kManyRows * kActStride), out_(kManyRows * kColumns) {
    Rng rng(1);
    std::vector<float> plain(kK);
    for (float& x : plain) x = static_cast<float>(rng.uniform()) - 0.5F;
    for (int64_t r = 0; r < kManyRows; ++r) {
      table.quantize_row(plain.data(), reinterpret_cast<ActBlock*>(act_.data() + r * kActStride),
                         kK);
    }
    const Format& format = format_of(row.kernel.weight);
    std::vector<std::byte> encoded(static_cast<size_t>(format.bytes_of(kK)));
    format.encode(plain.data(), nullptr, encoded.data(), kK);
    const std::vector<const std::byte*> rows(static_cast<size_t>(row.kernel.mr), encoded.data());
    group_bytes_ = row.kernel.group_bytes(kK);
    matrix_bytes_ = kColumns / row.kernel.mr * group_bytes_;
    n_matrices_ = kWorkingSet / matrix_bytes_;
    // In huge pages, as a model's weights are.
    Result<Buffer> buffer = Buffer::allocate(n_matrices_ * matrix_bytes_);
    if (!buffer) return;
    weights_ = std::move(*buffer);
    for (int64_t at = 0; at < weights_.n_bytes(); at += group_bytes_) {
      row.kernel.pack(weights_.get() + at, rows.data(), kK);
    }
  }
  bool is_ready() const { return weights_.n_bytes() > 0; }

  double gb_s_of_memory(Kernel kernel) {
    const double seconds = seconds_of([&] {
      for (int64_t i = 0; i < n_matrices_; ++i) run(kernel, i, 1);
    });
    return 1e-9 * static_cast<double>(weights_.n_bytes()) / seconds;
  }
  // Each thread has a part of the matrix of its own.
  double gb_s_of_cache(Kernel kernel) {
    constexpr int64_t kRepeats = 200;
    const int64_t n_groups = kSmallColumns / row_.kernel.mr;
    const double seconds = seconds_of([&] {
      pool_.run([&](int thread) {
        for (int64_t i = 0; i < kRepeats; ++i) {
          kernel(args_of(weights_.get() + thread * n_groups * group_bytes_, thread * kSmallColumns,
                         n_groups, 1));
        }
      });
    });
    return 1e-9 * static_cast<double>(kRepeats * n_groups * group_bytes_ * pool_.n_threads()) /
           seconds;
  }
  double gop_s_of_panel() {
    std::vector<int64_t> products(static_cast<size_t>(pool_.n_threads()));
    const double seconds = seconds_of([&] {
      pool_.run([&](int thread) {
        products[static_cast<size_t>(thread)] = row_.multiply_panel(
            args_of(weights_.get(), thread * kSmallColumns, kSmallColumns / row_.kernel.mr, 12),
            200);
      });
    });
    double all = 0;
    for (const int64_t n : products) all += static_cast<double>(n);
    return 2e-9 * all / seconds;
  }
  double gop_s_of_many_rows() {
    const double seconds = seconds_of([&] { run(row_.kernel.run, 0, kManyRows); });
    return 2e-9 * kManyRows * kK * kColumns / seconds;
  }

 private:
  static constexpr int64_t kActStride = kK / 32 * int64_t{sizeof(ActBlock)};

  GemmArgs args_of(const std::byte* weights, int64_t column, int64_t n_groups, int64_t n_rows) {
    return {.weights = weights,
            .act = act_.data(),
            .out = out_.data() + column,
            .k = kK,
            .n_groups = n_groups,
            .n_cols = n_groups * row_.kernel.mr,
            .n_rows = n_rows,
            .act_stride = kActStride,
            .out_stride = kColumns,
            .ahead = row_.kernel.ahead};
  }
  void run(Kernel kernel, int64_t matrix, int64_t n_rows) {
    pool_.run([&](int thread) {
      const Range part = part_of(kColumns / row_.kernel.mr, thread, pool_.n_threads(), 2);
      kernel(args_of(weights_.get() + matrix * matrix_bytes_ + part.begin * group_bytes_,
                     part.begin * row_.kernel.mr, part.end - part.begin, n_rows));
    });
  }

  const AblationRow& row_;
  WorkerPool& pool_;
  std::vector<std::byte> act_;
  std::vector<float> out_;
  Buffer weights_;
  int64_t group_bytes_ = 0;
  int64_t matrix_bytes_ = 0;
  int64_t n_matrices_ = 0;
};

constexpr std::array<const char*, 9> kSteps = {"read",         "and unpacked", "and multiplied",
                                               "cached: read", "and unpacked", "and multiplied",
                                               "panel",        "512 rows",     "int8 peak"};

std::array<double, kSteps.size()> measure(AblationBench& bench, const AblationRow& row,
                                          int n_threads) {
  std::array<std::vector<double>, kSteps.size()> runs;
  for (int round = 0; round < kRounds; ++round) {
    const std::array<Kernel, 3> kernels = {row.read, row.unpack, row.kernel.run};
    for (size_t i = 0; i < kernels.size(); ++i) {
      runs[i].push_back(bench.gb_s_of_memory(kernels[i]));
      runs[3 + i].push_back(bench.gb_s_of_cache(kernels[i]));
    }
    runs[6].push_back(bench.gop_s_of_panel());
    runs[7].push_back(bench.gop_s_of_many_rows());
    runs[8].push_back(measure_int8_gop_s(n_threads));
  }
  std::array<double, kSteps.size()> medians{};
  for (size_t i = 0; i < runs.size(); ++i) medians[i] = median(runs[i]);
  return medians;
}

const AblationTable* table_of(std::string_view isa) {
  if (isa == "avx2") return &kAvx2Ablation;
  if (isa == "avx512" || isa == "avx512bf16") return &kAvx512Ablation;
  return nullptr;
}

void print_head(bool markdown) {
  const char* between = markdown ? " | " : "  ";
  std::printf("%sformat", markdown ? "| " : "");
  for (const char* step : kSteps) std::printf("%s%s", between, step);
  std::printf("%s\n", markdown ? " |" : "");
  if (!markdown) return;
  for (size_t i = 0; i <= kSteps.size(); ++i) std::printf("|---");
  std::printf("|\n");
}

int run(int n_threads, bool markdown) {
  const Kernels& table = kernels();
  const AblationTable* rows = table_of(table.isa);
  if (rows == nullptr) {
    std::fprintf(stderr, "there are no ablations for '%s': set RUV_ISA to avx2 or avx512\n",
                 table.isa);
    return 1;
  }
  WorkerPool pool(n_threads);
  std::printf("%s, %d threads: plain reads %.1f GB/s\n\n", table.isa, pool.n_threads(),
              measure_read_gb_s(pool.n_threads()));
  print_head(markdown);
  for (int i = 0; i < rows->n; ++i) {
    AblationBench bench(rows->rows[i], table, pool);
    if (!bench.is_ready()) return 1;
    std::printf("%s%s", markdown ? "| " : "", format_of(rows->rows[i].kernel.weight).name);
    for (const double x : measure(bench, rows->rows[i], pool.n_threads()))
      std::printf("%s%.1f", markdown ? " | " : "  ", x);
    std::printf("%s\n", markdown ? " |" : "");
  }
  return 0;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  int n_threads = 0;
  bool markdown = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--markdown") == 0)
      markdown = true;
    else
      n_threads = std::atoi(argv[i]);
  }
  return ruv::run(n_threads, markdown);
}
