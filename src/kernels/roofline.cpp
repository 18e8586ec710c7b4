// Rooflines: see the header. The sum of what is read is kept so that no read can be dropped.
#include "kernels/roofline.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "base/clock.h"
#include "kernels/kernels.h"

namespace ruv {
namespace {

constexpr int64_t kBytes = int64_t{512} << 20;
constexpr int64_t kWords = kBytes / int64_t{sizeof(uint64_t)};
constexpr int64_t kPieceWords = 128;  // 1 KiB, what one stream reads before the next one's turn
constexpr int kPasses = 7;

double seconds_since(int64_t start_ns) {
  return static_cast<double>(SteadyClock().now_ns() - start_ns) * 1e-9;
}

struct ReadPattern {
  const char* name;
  int n_streams;        // per thread
  int64_t ahead_bytes;  // prefetch distance, 0: none
  bool keep_out_of_l2;  // prefetch with the hint for data used once
};

constexpr std::array kPatterns = {
    ReadPattern{"one stream", 1, 0, false},
    ReadPattern{"one stream, prefetch 2 KiB ahead", 1, 2 << 10, false},
    ReadPattern{"one stream, prefetch 8 KiB ahead", 1, 8 << 10, false},
    ReadPattern{"one stream, nontemporal prefetch 4 KiB ahead", 1, 4 << 10, true},
    ReadPattern{"two streams, prefetch 4 KiB ahead", 2, 4 << 10, false},
    ReadPattern{"four streams", 4, 0, false},
    ReadPattern{"four streams, prefetch 4 KiB ahead", 4, 4 << 10, false},
};

void prefetch(const uint64_t* words, int64_t ahead_bytes, bool keep_out_of_l2) {
  const char* p = reinterpret_cast<const char*>(words) + ahead_bytes;
  for (int64_t line = 0; line < kPieceWords * 8; line += 64) {
    if (keep_out_of_l2)
      __builtin_prefetch(p + line, 0, 0);
    else
      __builtin_prefetch(p + line, 0, 3);
  }
}

// Requires: n a multiple of n_streams · kPieceWords.
uint64_t sum_in_pieces(const uint64_t* words, int64_t n, const ReadPattern& pattern) {
  const int64_t stream = n / pattern.n_streams;
  uint64_t sum = 0;
  for (int64_t i = 0; i < stream; i += kPieceWords) {
    for (int s = 0; s < pattern.n_streams; ++s) {
      const uint64_t* piece = words + s * stream + i;
      if (pattern.ahead_bytes > 0) prefetch(piece, pattern.ahead_bytes, pattern.keep_out_of_l2);
      sum += kernels().sum_words(piece, kPieceWords);
    }
  }
  return sum;
}

uint64_t sum_by(const uint64_t* words, int64_t n, const ReadPattern& pattern) {
  if (pattern.n_streams == 1 && pattern.ahead_bytes == 0) return kernels().sum_words(words, n);
  return sum_in_pieces(words, n, pattern);
}

// The best rate of kPasses runs of work(rounds, thread), which returns the multiply-adds it did.
template <class F>
double best_gop_s(int n_threads, F work) {
  WorkerPool pool(n_threads);
  std::atomic<int64_t> products{0};
  const auto run = [&](int64_t rounds) {
    products = 0;
    const int64_t start = SteadyClock().now_ns();
    pool.run([&](int i) { products += work(rounds, i); });
    return seconds_since(start);
  };
  int64_t rounds = 1 << 16;
  while (run(rounds) < 0.02 && rounds < int64_t{1} << 40) rounds *= 2;
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const double seconds = run(rounds);
    best = std::max(best, 2e-9 * static_cast<double>(products.load()) / seconds);
  }
  return best;
}

template <class Number>
double peak_gop_s(int n_threads, int64_t (*peak)(int64_t, Number*)) {
  std::atomic<int32_t> kept{0};
  return best_gop_s(n_threads, [&](int64_t rounds, int thread) {
    Number sink = static_cast<Number>(thread + 1);
    const int64_t products = peak(rounds, &sink);
    kept += sink != Number{0};
    return products;
  });
}

}  // namespace

Result<MemoryReader> MemoryReader::create(int n_threads) {
  Buffer buffer = TRY(Buffer::allocate(kBytes));
  auto pool = std::make_unique<WorkerPool>(n_threads);
  uint64_t* words = buffer.as<uint64_t>();
  pool->run([&](int i) {
    const Range part = part_of(kWords, i, pool->n_threads(), 1 << 18);
    std::fill(words + part.begin, words + part.end, uint64_t{1});
  });
  return MemoryReader(std::move(buffer), std::move(pool));
}

double MemoryReader::best_gb_s(int n_passes) {
  const uint64_t* words = buffer_.as<uint64_t>();
  double best = 0;
  for (int pass = 0; pass < n_passes; ++pass) {
    for (const ReadPattern& pattern : kPatterns) {
      std::atomic<uint64_t> kept{0};
      const int64_t start = SteadyClock().now_ns();
      pool_->run([&](int i) {
        const Range part = part_of(kWords, i, pool_->n_threads(), 1 << 18);
        kept += sum_by(words + part.begin, part.end - part.begin, pattern);
      });
      const double gb_s = static_cast<double>(kBytes) * 1e-9 / seconds_since(start);
      if (gb_s <= best || kept.load() != static_cast<uint64_t>(kWords)) continue;
      best = gb_s;
      pattern_ = pattern.name;
    }
  }
  return best;
}

double measure_read_gb_s(int n_threads) {
  Result<MemoryReader> reader = MemoryReader::create(n_threads);
  return reader ? reader->best_gb_s(3) : 0;
}

double measure_int8_gop_s(int n_threads) { return peak_gop_s(n_threads, kernels().int8_peak); }

double measure_f32_gop_s(int n_threads) { return peak_gop_s(n_threads, kernels().f32_peak); }

double measure_bf16_gop_s(int n_threads) {
  return kernels().bf16_peak != nullptr ? peak_gop_s(n_threads, kernels().bf16_peak) : 0;
}

double measure_barrier_ns(int n_threads) {
  constexpr int kCalls = 2000;
  WorkerPool pool(n_threads);
  std::array<double, 5> rounds{};
  for (double& ns : rounds) {
    const int64_t start = SteadyClock().now_ns();
    for (int i = 0; i < kCalls; ++i) pool.run([](int) {});
    ns = seconds_since(start) * 1e9 / kCalls;
  }
  std::ranges::nth_element(rounds, rounds.begin() + 2);
  return rounds[2];
}

}  // namespace ruv
