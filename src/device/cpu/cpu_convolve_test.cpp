// The plain convolution against its meaning, and its running states against whole sequences.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/rng.h"
#include "device/batch_builder.h"
#include "device/cpu/cpu_ops.h"
#include "device/test_view.h"

namespace ruv::cpu_convolve_test {
namespace {

using Numbers = std::vector<float>;

constexpr int64_t kTokens = 30;
constexpr int64_t kTaps = 4;
constexpr int64_t kBefore = 3;  // float32 of the running state that another operation has

bool same_bytes(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// One layer with running states, and a sequence of random inputs.
class ConvolveWorld {
 public:
  ConvolveWorld(const Kernels& kernels, int64_t n_cols, int n_threads)
      : n_cols_(n_cols), pool_(n_threads), pages_(pages_for(n_cols)) {
    ops_ = std::move(*CpuOps::create(kernels, pool_, pages_, {2 * kTokens, 4, 4, 1}));
    Rng rng(11);
    const auto random = [&](int64_t n) {
      Numbers numbers(static_cast<size_t>(n));
      for (float& x : numbers) x = static_cast<float>(rng.uniform() * 4 - 2);
      return numbers;
    };
    rows_ = random(kTokens * n_cols);
    taps_ = random(kTaps * n_cols);
    bias_ = random(n_cols);
    for (const auto& group : pages_.assigned()) group->region().clear(0);
  }

  // Rows [first, first + n) of the sequence, from the state in frame `before`.
  struct Part {
    int64_t first = 0;
    int64_t n = 0;
    FrameId before = 0;
    std::vector<StateOut> after = {};
  };
  Numbers step(const std::vector<Part>& parts) {
    BatchBuilder batch;
    Numbers rows;
    for (const Part& part : parts) {
      batch.begin_sequence(part.first, {});
      batch.set_state(part.before, part.after);
      batch.add(std::vector<int32_t>(static_cast<size_t>(part.n)));
      const auto at = rows_.begin() + part.first * n_cols_;
      rows.insert(rows.end(), at, at + part.n * n_cols_);
    }
    Device& device = pages_.device();
    const Vector taps = *device.vector(taps_);
    const Vector bias = *device.vector(bias_);
    const TestView x(device, rows.data(), batch.n_rows(), n_cols_);
    ops_->begin(batch.batch(), {});
    ops_->convolve(
        x.view(),
        {.layer = 1, .state_begin = kBefore, .taps = &taps, .bias = &bias, .act = Act::silu});
    return x.numbers();
  }

  // In double precision, of the whole sequence.
  double expected(int64_t token, int64_t col) const {
    double sum = bias_[static_cast<size_t>(col)];
    for (int64_t t = 0; t < kTaps; ++t) {
      const int64_t from = token - (kTaps - 1) + t;
      if (from < 0) continue;
      sum += double{taps_[static_cast<size_t>(t * n_cols_ + col)]} *
             double{rows_[static_cast<size_t>(from * n_cols_ + col)]};
    }
    return sum / (1 + std::exp(-sum));
  }

 private:
  static KvPages pages_for(int64_t n_cols) {
    const int64_t state_bytes = (kBefore + (kTaps - 1) * n_cols) * int64_t{sizeof(float)};
    const CacheLayout layout = {{{{1, 4, 4}}, {{.state_bytes = state_bytes}}}};
    return std::move(*KvPages::create(layout, 4, FrameLimits{.n_drafts = 8}));
  }

  int64_t n_cols_;
  WorkerPool pool_;
  KvPages pages_;
  std::unique_ptr<CpuOps> ops_;
  Numbers rows_, taps_, bias_;
};

TEST(CpuConvolve, IsTheSumOfTheNewestRows) {
  for (const Kernels* kernels : all_kernels()) {
    ConvolveWorld world(*kernels, 21, 1);
    const Numbers y = world.step({{.n = kTokens}});
    for (int64_t token = 0; token < kTokens; ++token) {
      for (int64_t col = 0; col < 21; ++col) {
        ASSERT_NEAR(y[static_cast<size_t>(token * 21 + col)], world.expected(token, col), 1e-5)
            << kernels->isa << ", token " << token << ", column " << col;
      }
    }
  }
}

// Chunks shorter and longer than the filter, with states in the middle as drafts need them.
TEST(CpuConvolve, ChunksGiveTheBytesOfTheWhole) {
  ConvolveWorld world(portable_kernels(), 9, 1);
  const Numbers whole = world.step({{.n = kTokens}});
  for (const int64_t chunk : {1, 2, 3, 7, 16}) {
    Numbers joined;
    FrameId before = 0;
    for (int64_t first = 0; first < kTokens; first += chunk) {
      const int64_t n = std::min(chunk, kTokens - first);
      const FrameId after = before == 1 ? 2 : 1;
      const Numbers y = world.step({{first, n, before, {{n / 2, 3}, {n - 1, after}}}});
      joined.insert(joined.end(), y.begin(), y.end());
      if (n / 2 + 1 < n) {
        const int64_t done = n / 2 + 1;
        const Numbers rest = world.step({{first + done, n - done, 3}});
        EXPECT_TRUE(same_bytes(rest, {y.begin() + done * 9, y.end()})) << "from the middle";
      }
      before = after;
    }
    EXPECT_TRUE(same_bytes(joined, whole)) << "chunks of " << chunk;
  }
}

// Wide enough that threads share the columns.
TEST(CpuConvolve, SequencesOfABatchAndThreadsDoNotMatter) {
  ConvolveWorld alone(portable_kernels(), 2100, 1);
  Numbers expected = alone.step({{0, 9, 0, {{8, 1}}}});
  const Numbers second = alone.step({{9, 12, 1}});
  expected.insert(expected.end(), second.begin(), second.end());
  ConvolveWorld together(portable_kernels(), 2100, 3);
  together.step({{0, 9, 0, {{8, 1}}}});
  EXPECT_TRUE(same_bytes(together.step({{0, 9, 0}, {9, 12, 1}}), expected));
}

}  // namespace
}  // namespace ruv::cpu_convolve_test
