// ruv_bench_kernels: GB/s and GOP/s of every matmul row, beside the machine's read bandwidth and
// the peak of the numbers the row multiplies. Few rows walk over matrices of 256 MB together, far
// more than caches hold, as a decode step does; 512 rows take one matrix, as a prompt's chunk does.
//   ruv_bench_kernels [isa] [threads] [format] [--json]
#include <cstdio>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/worker_pool.h"
#include "kernels/kernels.h"
#include "kernels/roofline.h"
#include "tensor/format.h"
#include "tensor/half.h"

namespace ruv {
namespace {

constexpr int64_t kK = 4096;
constexpr int64_t kOut = 4096;
constexpr int64_t kWorkingSet = int64_t{256} << 20;
constexpr int64_t kMostRows = 512;
constexpr std::array<int64_t, 7> kFewRows = {1, 2, 4, 6, 8, 16, 32};

double seconds_since(int64_t start_ns) {
  return static_cast<double>(SteadyClock().now_ns() - start_ns) * 1e-9;
}

struct Rooflines {
  double read_gb_s, int8_gop_s, f32_gop_s, bf16_gop_s;

  double peak_of(ActFormat act) const {
    return act == ActFormat::q8 ? int8_gop_s : act == ActFormat::bf16 ? bf16_gop_s : f32_gop_s;
  }
};

struct RowReport {
  const char* isa = "";
  const char* format = "";
  double pack_gb_s = 0;
  double read_gb_s = 0;  // of the machine, around this row's runs
  std::array<double, kFewRows.size()> gb_s{};
  double gop_s = 0;  // of kMostRows rows
  double peak_gop_s = 0;
};

// Packed copies of one random matrix and activations in the row's format.
class RowBench {
 public:
  RowBench(const Kernels& table, const GemmKernel& row, WorkerPool& pool)
      : table_(table), row_(row), pool_(pool) {}

  // False when the memory cannot be had.
  bool prepare(RowReport& report) {
    matrix_bytes_ = kOut / row_.mr * row_.group_bytes(kK);
    n_matrices_ = (kWorkingSet + matrix_bytes_ - 1) / matrix_bytes_;
    Result<Buffer> buffer = Buffer::allocate(n_matrices_ * matrix_bytes_);
    if (!buffer) return false;
    weights_ = std::move(*buffer);
    Rng rng(1);
    std::vector<float> plain(kK);
    for (float& x : plain) x = static_cast<float>(rng.uniform()) - 0.5F;
    report.pack_gb_s = pack(plain);
    for (int64_t i = 1; i < n_matrices_; ++i)
      std::memcpy(weights_.get() + i * matrix_bytes_, weights_.get(),
                  static_cast<size_t>(matrix_bytes_));
    set_activations(plain);
    out_.resize(static_cast<size_t>(kMostRows * kOut));
    return true;
  }

  // Seconds of n_rows rows through one matrix, the mean over the whole working set.
  double seconds_over_all(int64_t n_rows) {
    const int64_t start = SteadyClock().now_ns();
    for (int64_t i = 0; i < n_matrices_; ++i) multiply(i, n_rows);
    return seconds_since(start) / static_cast<double>(n_matrices_);
  }
  double seconds_of_one(int64_t n_rows) {
    const int64_t start = SteadyClock().now_ns();
    multiply(0, n_rows);
    return seconds_since(start);
  }
  int64_t matrix_bytes() const { return matrix_bytes_; }

 private:
  // GB/s of packed bytes by one thread.
  double pack(const std::vector<float>& plain) {
    const Format& format = format_of(row_.weight);
    // Formats that are only read get bytes whose scales and codes are small numbers.
    std::vector<std::byte> encoded(static_cast<size_t>(format.bytes_of(kK)), std::byte{0x2E});
    if (format.encode != nullptr) format.encode(plain.data(), nullptr, encoded.data(), kK);
    const std::vector<const std::byte*> rows(static_cast<size_t>(row_.mr), encoded.data());
    std::memset(weights_.get(), 1, static_cast<size_t>(matrix_bytes_));  // pages are there
    const int64_t start = SteadyClock().now_ns();
    for (int64_t g = 0; g < kOut / row_.mr; ++g)
      row_.pack(weights_.get() + g * row_.group_bytes(kK), rows.data(), kK);
    return static_cast<double>(matrix_bytes_) * 1e-9 / seconds_since(start);
  }

  void set_activations(const std::vector<float>& plain) {
    const bool is_q8 = row_.act == ActFormat::q8;
    act_stride_ =
        is_q8 ? kK / 32 * int64_t{sizeof(ActBlock)} : kK * (row_.act == ActFormat::bf16 ? 2 : 4);
    act_.resize(static_cast<size_t>(kMostRows * act_stride_));
    for (int64_t r = 0; r < kMostRows; ++r) {
      std::byte* to = act_.data() + r * act_stride_;
      if (is_q8) {
        table_.quantize_row(plain.data(), reinterpret_cast<ActBlock*>(to), kK);
      } else if (row_.act == ActFormat::bf16) {
        for (int64_t i = 0; i < kK; ++i) {
          const uint16_t bits = bf16_from_f32(plain[static_cast<size_t>(i)]);
          std::memcpy(to + 2 * i, &bits, 2);
        }
      } else {
        std::memcpy(to, plain.data(), kK * sizeof(float));
      }
    }
  }

  void multiply(int64_t matrix, int64_t n_rows) {
    const std::byte* weights = weights_.get() + matrix * matrix_bytes_;
    pool_.run([&](int thread) {
      const Range part = part_of(kOut / row_.mr, thread, pool_.n_threads());
      row_.run({.weights = weights + part.begin * row_.group_bytes(kK),
                .act = act_.data(),
                .out = out_.data() + part.begin * row_.mr,
                .k = kK,
                .n_groups = part.end - part.begin,
                .n_cols = (part.end - part.begin) * row_.mr,
                .n_rows = n_rows,
                .act_stride = act_stride_,
                .out_stride = kOut,
                .ahead = row_.ahead});
    });
  }

  const Kernels& table_;
  const GemmKernel& row_;
  WorkerPool& pool_;
  Buffer weights_;
  int64_t matrix_bytes_ = 0;
  int64_t n_matrices_ = 0;
  std::vector<std::byte> act_;
  int64_t act_stride_ = 0;
  std::vector<float> out_;
};

// The best of some passes in turn over all row counts, so that a disturbance hits no count alone.
void measure(RowBench& bench, MemoryReader& reader, RowReport& report) {
  constexpr int kPasses = 3;
  report.read_gb_s = reader.best_gb_s(1);
  const auto bytes = static_cast<double>(bench.matrix_bytes());
  for (int pass = 0; pass < kPasses; ++pass) {
    for (size_t i = 0; i < kFewRows.size(); ++i)
      report.gb_s[i] = std::max(report.gb_s[i], 1e-9 * bytes / bench.seconds_over_all(kFewRows[i]));
    const double seconds = bench.seconds_of_one(kMostRows);
    report.gop_s = std::max(report.gop_s, 2e-9 * kMostRows * kOut * kK / seconds);
  }
  report.read_gb_s = std::max(report.read_gb_s, reader.best_gb_s(1));
}

void print_text(const RowReport& r) {
  std::printf("%-7s %-7s pack %5.2f GB/s |", r.isa, r.format, r.pack_gb_s);
  for (size_t i = 0; i < kFewRows.size(); ++i) {
    std::printf(" %d: %5.1f GB/s", static_cast<int>(kFewRows[i]), r.gb_s[i]);
    if (i == 0)
      std::printf(" %3.0f%% |", 100 * r.gb_s[i] / r.read_gb_s);
    else
      std::printf(" x%.2f |", r.gb_s[0] / r.gb_s[i]);
  }
  std::printf(" %d: %6.0f GOP/s %3.0f%%\n", static_cast<int>(kMostRows), r.gop_s,
              100 * r.gop_s / r.peak_gop_s);
}

void print_json(const RowReport& r, int n_threads) {
  std::printf(
      "{\"isa\":\"%s\",\"format\":\"%s\",\"threads\":%d,\"pack_gb_s\":%.3f,"
      "\"machine_gb_s\":%.2f,\"peak_gop_s\":%.1f,\"gb_s\":{",
      r.isa, r.format, n_threads, r.pack_gb_s, r.read_gb_s, r.peak_gop_s);
  for (size_t i = 0; i < kFewRows.size(); ++i)
    std::printf("%s\"%d\":%.2f", i > 0 ? "," : "", static_cast<int>(kFewRows[i]), r.gb_s[i]);
  std::printf("},\"gop_s\":%.1f}\n", r.gop_s);
}

struct KernelsCall {
  const char* isa = nullptr;
  int n_threads = 0;
  const char* format = nullptr;
  bool json = false;
};

int run(const KernelsCall& call) {
  const Kernels* table = call.isa != nullptr ? find_kernels(call.isa) : &kernels();
  if (table == nullptr) {
    std::fprintf(stderr, "this machine cannot run '%s'\n", call.isa);
    return 1;
  }
  WorkerPool pool(call.n_threads);
  Result<MemoryReader> reader = MemoryReader::create(pool.n_threads());
  if (!reader) {
    std::fprintf(stderr, "%s\n", reader.error().message().c_str());
    return 1;
  }
  const int n = pool.n_threads();
  const Rooflines roof{reader->best_gb_s(2), measure_int8_gop_s(n), measure_f32_gop_s(n),
                       measure_bf16_gop_s(n)};
  if (!call.json)
    std::printf("%d threads: read %.1f GB/s (%s), int8 %.0f GOP/s, f32 %.0f, bf16 %.0f (%s)\n", n,
                roof.read_gb_s, reader->pattern(), roof.int8_gop_s, roof.f32_gop_s, roof.bf16_gop_s,
                kernels().isa);
  for (const GemmKernel& row : table->gemm) {
    const char* name = format_of(row.weight).name;
    if (call.format != nullptr && std::string(call.format) != name) continue;
    RowReport report;
    report.isa = table->isa;
    report.format = name;
    report.peak_gop_s = roof.peak_of(row.act);
    RowBench bench(*table, row, pool);
    if (!bench.prepare(report)) continue;
    measure(bench, *reader, report);
    if (call.json)
      print_json(report, n);
    else
      print_text(report);
  }
  return 0;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  ruv::KernelsCall call;
  int place = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0)
      call.json = true;
    else if (place++ == 0)
      call.isa = argv[i];
    else if (place == 2)
      call.n_threads = std::atoi(argv[i]);
    else
      call.format = argv[i];
  }
  return ruv::run(call);
}
