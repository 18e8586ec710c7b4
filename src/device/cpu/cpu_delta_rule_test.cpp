// The gated delta rule against its meaning in double precision, and its running states against
// whole sequences.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/rng.h"
#include "device/batch_builder.h"
#include "device/cpu/cpu_ops.h"
#include "device/test_view.h"

namespace ruv::cpu_delta_rule_test {
namespace {

using Numbers = std::vector<float>;

constexpr int64_t kTokens = 24;
constexpr FrameId kStates = 8;
constexpr int64_t kBefore = 5;  // float32 of the running state that another operation has

struct DeltaShape {
  int64_t n_key_heads = 1, n_value_heads = 1, key_dim = 1, value_dim = 1;
  bool tiled = false;
  bool decays_keys = false;  // one number for each key of a head
  float beta_scale = 1;

  int64_t n_qkv() const { return 2 * n_key_heads * key_dim + n_out(); }
  int64_t n_out() const { return n_value_heads * value_dim; }
  int64_t n_decays() const { return n_value_heads * (decays_keys ? key_dim : 1); }
  int64_t n_state() const { return n_value_heads * key_dim * value_dim; }
};

bool same_bytes(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One layer with running states, and a sequence of random inputs.
class DeltaWorld {
 public:
  DeltaWorld(const Kernels& kernels, const DeltaShape& shape, int n_threads)
      : shape_(shape), pool_(n_threads), pages_(pages_for_shape(shape)) {
    const OpsLimits limits = {.max_rows = 2 * kTokens,
                              .max_k = 4,
                              .max_head_dim = 4,
                              .max_group = 1,
                              .max_state_keys = shape.key_dim,
                              .max_state_values = shape.value_dim};
    ops_ = std::move(*CpuOps::create(kernels, pool_, pages_, limits));
    Rng rng(11);
    const auto random = [&](int64_t n, double low, double high) {
      Numbers numbers(static_cast<size_t>(n));
      for (float& x : numbers) x = static_cast<float>(low + rng.uniform() * (high - low));
      return numbers;
    };
    qkv_ = random(kTokens * shape.n_qkv(), -2, 2);
    beta_ = random(kTokens * shape.n_value_heads, -3, 3);
    decay_ = random(kTokens * shape.n_decays(), -4, 2);
    rate_ = random(shape.n_value_heads, -2, -0.1);
    bias_ = random(shape.n_decays(), -1, 1);
    for (const auto& group : pages_.assigned()) group->region().clear(0);
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
    Numbers qkv, beta, decay;
    const auto take = [](Numbers& to, const Numbers& from, const Part& part) {
      const int64_t n = std::ssize(from) / kTokens;
      to.insert(to.end(), from.begin() + part.first * n, from.begin() + (part.first + part.n) * n);
    };
    for (const Part& part : parts) {
      batch.begin_sequence(part.first, {});
      batch.set_state(part.before, part.after);
      batch.add(std::vector<int32_t>(static_cast<size_t>(part.n)));
      take(qkv, qkv_, part);
      take(beta, beta_, part);
      take(decay, decay_, part);
    }
    Device& device = pages_.device();
    const Vector rate = *device.vector(rate_);
    const Vector bias = *device.vector(bias_);
    const int64_t n_rows = batch.n_rows();
    const TestView in_qkv(device, qkv.data(), n_rows, shape_.n_qkv());
    const TestView in_beta(device, beta.data(), n_rows, shape_.n_value_heads);
    const TestView in_decay(device, decay.data(), n_rows, shape_.n_decays());
    const TestView out(device, nullptr, n_rows, shape_.n_out());
    ops_->begin(batch.batch(), {});
    ops_->delta_rule(out.view(), {in_qkv.view(), in_beta.view(), in_decay.view()},
                     {.layer = 1,
                      .state_begin = kBefore,
                      .n_key_heads = shape_.n_key_heads,
                      .n_value_heads = shape_.n_value_heads,
                      .key_dim = shape_.key_dim,
                      .value_dim = shape_.value_dim,
                      .tiled = shape_.tiled,
                      .beta_scale = shape_.beta_scale,
                      .decay_rate = &rate,
                      .decay_bias = &bias});
    return out.numbers();
  }
  Numbers state(FrameId frame) const {
    Numbers numbers(static_cast<size_t>(kBefore + shape_.n_state()));
    pages_.device().download(pages_.state(frame, 1), std::as_writable_bytes(std::span(numbers)));
    numbers.erase(numbers.begin(), numbers.begin() + kBefore);
    return numbers;
  }

  // Of the whole sequence, in double precision.
  std::vector<double> expected() const {
    std::vector<double> out;
    const auto dk = static_cast<size_t>(shape_.key_dim);
    const auto dv = static_cast<size_t>(shape_.value_dim);
    const auto n_heads = static_cast<size_t>(shape_.n_value_heads);
    const auto n_keys = static_cast<size_t>(shape_.n_key_heads);
    std::vector<double> s(n_heads * dk * dv);
    for (size_t token = 0; token < kTokens; ++token) {
      const float* const qkv = qkv_.data() + token * static_cast<size_t>(shape_.n_qkv());
      for (size_t h = 0; h < n_heads; ++h) {
        const size_t own = shape_.tiled ? h % n_keys : h / (n_heads / n_keys);
        const std::vector<double> q = unit(qkv + own * dk);
        const std::vector<double> k = unit(qkv + (n_keys + own) * dk);
        const float* const v = qkv + 2 * n_keys * dk + h * dv;
        const double beta = shape_.beta_scale * sigmoid(beta_[token * n_heads + h]);
        for (size_t j = 0; j < dv; ++j) {
          double memory = 0, sum = 0;
          for (size_t i = 0; i < dk; ++i) {
            double& one = s[(h * dk + i) * dv + j];
            one *= kept(token, h, i);
            memory += one * k[i];
          }
          for (size_t i = 0; i < dk; ++i) {
            double& one = s[(h * dk + i) * dv + j];
            one += beta * k[i] * (v[j] - memory);
            sum += one * q[i];
          }
          out.push_back(sum / std::sqrt(static_cast<double>(dk)));
        }
      }
    }
    return out;
  }

 private:
  static KvPages pages_for_shape(const DeltaShape& shape) {
    const int64_t state_bytes = (kBefore + shape.n_state()) * int64_t{sizeof(float)};
    const CacheLayout layout = {{{{1, 4, 4}}, {{.state_bytes = state_bytes}}}};
    return std::move(*KvPages::create(layout, 4, FrameLimits{.n_drafts = kStates}));
  }
  std::vector<double> unit(const float* x) const {
    std::vector<double> result(x, x + shape_.key_dim);
    double squares = 1e-6;
    for (const double one : result) squares += one * one;
    for (double& one : result) one /= std::sqrt(squares);
    return result;
  }
  double kept(size_t token, size_t head, size_t key) const {
    const auto n = static_cast<size_t>(shape_.n_decays());
    const size_t at = shape_.decays_keys ? head * static_cast<size_t>(shape_.key_dim) + key : head;
    const double x = double{decay_[token * n + at]} + double{bias_[at]};
    return std::exp(rate_[head] * std::log1p(std::exp(x)));
  }

  DeltaShape shape_;
  WorkerPool pool_;
  KvPages pages_;
  std::unique_ptr<CpuOps> ops_;
  Numbers qkv_, beta_, decay_, rate_, bias_;
};

const Kernels& any_kernels() { return portable_kernels(); }

TEST(CpuDeltaRule, IsTheRecurrence) {
  for (const DeltaShape& shape :
       {DeltaShape{1, 1, 1, 1}, DeltaShape{2, 4, 8, 5}, DeltaShape{2, 6, 5, 20, true},
        DeltaShape{2, 2, 16, 33, false, true, 2}}) {
    for (const Kernels* kernels : all_kernels()) {
      DeltaWorld world(*kernels, shape, 1);
      const Numbers y = world.step({{.n = kTokens}});
      const std::vector<double> want = world.expected();
      ASSERT_EQ(y.size(), want.size());
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_NEAR(y[i], want[i], 1e-5) << kernels->isa << ", number " << i;
      }
    }
  }
}

// Each chunk from the state that the one before has left.
TEST(CpuDeltaRule, ChunksGiveTheBytesOfTheWhole) {
  DeltaWorld world(any_kernels(), {2, 4, 8, 19}, 1);
  const Numbers whole = world.step({{.n = kTokens, .after = {{kTokens - 1, 3}}}});
  for (const int64_t chunk : {1, 2, 7}) {
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
    EXPECT_TRUE(same_bytes(world.state(before), world.state(3))) << "chunks of " << chunk;
  }
}

// As drafts need them: any of the rows may turn out to be the last.
TEST(CpuDeltaRule, AStateAfterAnyRowIsThatOfAShorterStep) {
  DeltaWorld world(any_kernels(), {1, 2, 6, 9}, 1);
  world.step({{0, 5, 0, {{4, 1}}}});
  const Numbers before = world.state(1);
  const Numbers rows = world.step({{5, 6, 1, {{0, 2}, {1, 3}, {4, 4}}}});
  EXPECT_TRUE(same_bytes(world.state(1), before)) << "the state before the step has changed";
  EXPECT_TRUE(same_bytes(world.step({{5, 6, 1, {{0, 2}, {5, 6}}}}), rows));
  for (const auto& [n, frame] : {std::pair<int64_t, FrameId>{1, 2}, {2, 3}, {5, 4}}) {
    world.step({{5, n, 1, {{n - 1, 5}}}});
    EXPECT_TRUE(same_bytes(world.state(frame), world.state(5))) << "after " << n << " rows";
  }
}

// Matrices large enough that threads share the heads.
TEST(CpuDeltaRule, SequencesOfABatchAndThreadsDoNotMatter) {
  const DeltaShape shape = {2, 4, 40, 48};
  DeltaWorld alone(any_kernels(), shape, 1);
  alone.step({{0, 7, 0, {{6, 1}}}});
  Numbers expected = alone.step({{0, 11, 0, {{10, 2}}}});
  const Numbers second = alone.step({{7, 13, 1, {{12, 3}}}});
  expected.insert(expected.end(), second.begin(), second.end());
  DeltaWorld together(any_kernels(), shape, 3);
  together.step({{0, 7, 0, {{6, 1}}}});
  EXPECT_TRUE(same_bytes(together.step({{0, 11, 0, {{10, 2}}}, {7, 13, 1, {{12, 3}}}}), expected));
  EXPECT_TRUE(same_bytes(together.state(2), alone.state(2)));
  EXPECT_TRUE(same_bytes(together.state(3), alone.state(3)));
}

}  // namespace
}  // namespace ruv::cpu_delta_rule_test
