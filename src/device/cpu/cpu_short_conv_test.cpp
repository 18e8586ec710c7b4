// The gated convolution against its meaning, and its running states against whole sequences.
#include <gtest/gtest.h>

#include <cstring>

#include "base/rng.h"
#include "device/batch_builder.h"
#include "device/cpu/cpu_ops.h"
#include "device/test_view.h"

namespace ruv::cpu_short_conv_test {
namespace {

using Numbers = std::vector<float>;
using Starts = std::vector<int64_t>;

constexpr int64_t kTokens = 40;
constexpr FrameId kStates = 8;

struct ConvShape {
  int64_t n_cols = 0;
  int64_t n_taps = 0;
  bool has_bias = false;
};

bool same_bytes(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// One layer with running states, and a sequence of random inputs.
class ConvWorld {
 public:
  ConvWorld(const Kernels& kernels, const ConvShape& shape, int n_threads)
      : shape_(shape), pool_(n_threads), pages_(pages_for_shape(shape)) {
    ops_ = std::move(*CpuOps::create(kernels, pool_, pages_, {2 * kTokens, 4, 4, 1}));
    Rng rng(11);
    const auto random = [&](int64_t n) {
      Numbers numbers(static_cast<size_t>(n));
      for (float& x : numbers) x = static_cast<float>(rng.uniform() * 4 - 2);
      return numbers;
    };
    rows_ = random(kTokens * 3 * shape.n_cols);
    taps_ = random(shape.n_taps * shape.n_cols);
    if (shape.has_bias) bias_ = random(shape.n_cols);
    clear(0);
  }

  void clear(FrameId frame) {
    for (const auto& group : pages_.assigned()) group->region().clear(frame);
  }

  // Rows [first, first + n) of the sequence, from the state in frame `before`.
  struct Part {
    int64_t first = 0;
    int64_t n = 0;
    FrameId before = 0;
    std::vector<StateOut> after = {};
  };
  // The results of all parts, one after the other, as one step computes them.
  Numbers step(const std::vector<Part>& parts) {
    BatchBuilder batch;
    Numbers rows;
    for (const Part& part : parts) {
      batch.begin_sequence(part.first, {});
      batch.set_state(part.before, part.after);
      batch.add(std::vector<int32_t>(static_cast<size_t>(part.n)));
      const auto at = rows_.begin() + part.first * 3 * shape_.n_cols;
      rows.insert(rows.end(), at, at + part.n * 3 * shape_.n_cols);
    }
    Device& device = pages_.device();
    const Vector taps = *device.vector(taps_);
    const Vector bias = *device.vector(bias_);
    const TestView in(device, rows.data(), batch.n_rows(), 3 * shape_.n_cols);
    const TestView out(device, nullptr, batch.n_rows(), shape_.n_cols);
    ops_->begin(batch.batch(), {});
    ops_->short_conv(out.view(), in.view(), {.layer = 1, .taps = &taps, .bias = &bias});
    return out.numbers();
  }
  Numbers state(FrameId frame) const {
    Numbers numbers(static_cast<size_t>((shape_.n_taps - 1) * shape_.n_cols));
    pages_.device().download(pages_.state(frame, 1), std::as_writable_bytes(std::span(numbers)));
    return numbers;
  }

  // In double precision, of the whole sequence.
  double expected(int64_t token, int64_t col) const {
    double sum = shape_.has_bias ? double{bias_[static_cast<size_t>(col)]} : 0;
    for (int64_t t = 0; t < shape_.n_taps; ++t) {
      const int64_t from = token - (shape_.n_taps - 1) + t;
      if (from < 0) continue;
      sum += double{taps_[static_cast<size_t>(t * shape_.n_cols + col)]} * part(from, 0, col) *
             part(from, 2, col);
    }
    return sum * part(token, 1, col);
  }

 private:
  static KvPages pages_for_shape(const ConvShape& shape) {
    const int64_t state_bytes = (shape.n_taps - 1) * shape.n_cols * int64_t{sizeof(float)};
    const CacheLayout layout = {{{{1, 4, 4}}, {{.state_bytes = state_bytes}}}};
    return std::move(*KvPages::create(layout, 4, FrameLimits{.n_drafts = kStates}));
  }
  double part(int64_t token, int64_t part, int64_t col) const {
    const int64_t at = (token * 3 + part) * shape_.n_cols + col;
    return double{rows_[static_cast<size_t>(at)]};
  }

  ConvShape shape_;
  WorkerPool pool_;
  KvPages pages_;
  std::unique_ptr<CpuOps> ops_;
  Numbers rows_, taps_, bias_;
};

const Kernels& any_kernels() { return portable_kernels(); }

TEST(CpuShortConv, IsTheGatedSumOfTheNewestRows) {
  for (const ConvShape& shape : {ConvShape{5, 3, false}, {24, 4, true}, {7, 2, true}}) {
    for (const Kernels* kernels : all_kernels()) {
      ConvWorld world(*kernels, shape, 1);
      const Numbers y = world.step({{.n = kTokens}});
      for (int64_t token = 0; token < kTokens; ++token) {
        for (int64_t col = 0; col < shape.n_cols; ++col) {
          ASSERT_NEAR(y[static_cast<size_t>(token * shape.n_cols + col)],
                      world.expected(token, col), 1e-5)
              << kernels->isa << ", token " << token << ", column " << col;
        }
      }
    }
  }
}

TEST(CpuShortConv, OneTapNeedsNoState) {
  const ConvShape shape = {6, 1, true};
  ConvWorld world(any_kernels(), shape, 1);
  const Numbers y = world.step({{.n = 3, .before = -1}});
  EXPECT_NEAR(y[2 * 6 + 1], world.expected(2, 1), 1e-5);
}

// Chunks shorter and longer than the filter, each from the state that the one before has left.
TEST(CpuShortConv, ChunksGiveTheBytesOfTheWhole) {
  const ConvShape shape = {9, 4, true};
  ConvWorld world(any_kernels(), shape, 1);
  const Numbers whole = world.step({{.n = kTokens}});
  for (const int64_t chunk : {1, 2, 3, 5, 17}) {
    Numbers joined;
    FrameId before = 0;
    for (int64_t first = 0; first < kTokens; first += chunk) {
      const int64_t n = std::min(chunk, kTokens - first);
      const FrameId after = before == 1 ? 2 : 1;
      const Numbers y = world.step({{first, n, before, {{n - 1, after}}}});
      joined.insert(joined.end(), y.begin(), y.end());
      before = after;
    }
    EXPECT_TRUE(same_bytes(joined, whole)) << "chunks of " << chunk;
  }
}

// As drafts need them: any of the rows may turn out to be the last.
TEST(CpuShortConv, AStateAfterAnyRowIsThatOfAShorterStep) {
  const ConvShape shape = {9, 4, false};
  ConvWorld world(any_kernels(), shape, 1);
  world.step({{0, 5, 0, {{4, 1}}}});
  const Numbers before = world.state(1);
  world.step({{5, 6, 1, {{0, 2}, {1, 3}, {4, 4}}}});
  EXPECT_TRUE(same_bytes(world.state(1), before)) << "the state before the step has changed";
  for (const auto& [n, frame] : {std::pair<int64_t, FrameId>{1, 2}, {2, 3}, {5, 4}}) {
    world.step({{5, n, 1, {{n - 1, 5}}}});
    EXPECT_TRUE(same_bytes(world.state(frame), world.state(5))) << "after " << n << " rows";
    world.step({{0, 5 + n, 0, {{4 + n, 6}}}});
    EXPECT_TRUE(same_bytes(world.state(frame), world.state(6))) << "from the start, " << n;
  }
}

// Wide enough that threads share the columns.
TEST(CpuShortConv, SequencesOfABatchAndThreadsDoNotMatter) {
  const ConvShape shape = {1100, 3, true};
  ConvWorld alone(any_kernels(), shape, 1);
  alone.step({{0, 7, 0, {{6, 1}}}});
  const Numbers first = alone.step({{0, 11, 0, {{10, 2}}}});
  const Numbers second = alone.step({{7, 13, 1, {{12, 3}}}});
  ConvWorld together(any_kernels(), shape, 3);
  together.step({{0, 7, 0, {{6, 1}}}});
  Numbers expected = first;
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_TRUE(same_bytes(together.step({{0, 11, 0, {{10, 2}}}, {7, 13, 1, {{12, 3}}}}), expected));
  EXPECT_TRUE(same_bytes(together.state(2), alone.state(2)));
  EXPECT_TRUE(same_bytes(together.state(3), alone.state(3)));
}

}  // namespace
}  // namespace ruv::cpu_short_conv_test
