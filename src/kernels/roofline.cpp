// Rooflines: see the header. The sum of what is read is kept so that no read can be dropped.
#include "kernels/roofline.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/threads.h"
#include "kernels/kernels.h"

namespace ruv {
namespace {

constexpr int64_t kBytes = 256 << 20;
constexpr int kPasses = 7;

double seconds_since(int64_t start_ns) {
  return static_cast<double>(SteadyClock().now_ns() - start_ns) * 1e-9;
}

}  // namespace

double measure_read_gb_s(int n_threads) {
  const Result<Buffer> buffer = Buffer::allocate(kBytes);
  if (!buffer) return 0;
  auto* const words = buffer->as<uint64_t>();
  WorkerPool pool(n_threads);
  constexpr int64_t kWords = kBytes / int64_t{sizeof(uint64_t)};
  const auto part = [&](int i) { return part_of(kWords, i, pool.n_threads(), 1 << 18); };
  pool.run([&](int i) { std::fill(words + part(i).begin, words + part(i).end, uint64_t{1}); });
  std::atomic<uint64_t> kept{0};
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const int64_t start = SteadyClock().now_ns();
    pool.run([&](int i) {
      kept += kernels().sum_words(words + part(i).begin, part(i).end - part(i).begin);
    });
    best = std::max(best, static_cast<double>(kBytes) * 1e-9 / seconds_since(start));
  }
  return kept.load() == static_cast<uint64_t>(kWords) * kPasses ? best : 0;
}

double measure_int8_gop_s(int n_threads) {
  WorkerPool pool(n_threads);
  std::atomic<int32_t> kept{0};
  std::atomic<int64_t> products{0};
  const auto run = [&](int64_t rounds) {
    products = 0;
    const int64_t start = SteadyClock().now_ns();
    pool.run([&](int i) {
      int32_t sink = i;
      products += kernels().int8_peak(rounds, &sink);
      kept += sink;
    });
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

}  // namespace ruv
