// The operations of RWKV against their meaning in double precision, and their running states
// against whole sequences.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "base/rng.h"
#include "device/batch_builder.h"
#include "device/cpu/cpu_ops.h"
#include "device/cpu/test_states.h"
#include "device/test_view.h"

namespace ruv::cpu_time_mix_test {
namespace {

using Numbers = std::vector<float>;
using Doubles = std::vector<double>;

constexpr int64_t kTokens = 18;
constexpr int64_t kHeads = 3;
constexpr int64_t kHeadDim = 20;
constexpr int64_t kCols = kHeads * kHeadDim;
constexpr int64_t kBefore = 5;  // float32 of the running state that another operation has
constexpr float kEps = 1e-3F;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

enum class Kind : uint8_t { shift, average, given, rates, corrected };

// One layer with running states, a sequence of random rows of five kinds, and some vectors.
class MixWorld {
 public:
  MixWorld(const Kernels& kernels, Kind kind, int n_threads)
      : kind_(kind), pool_(n_threads), pages_(make_pages()) {
    ops_ = std::move(*CpuOps::create(kernels, pool_, pages_,
                                     {.max_rows = 2 * kTokens,
                                      .max_k = 4,
                                      .max_head_dim = 4,
                                      .max_group = 1,
                                      .max_state_keys = kHeadDim,
                                      .max_state_values = kHeadDim}));
    Rng rng(11);
    const auto random = [&](Numbers& numbers, int64_t n, double low, double high) {
      numbers.resize(static_cast<size_t>(n));
      for (float& x : numbers) x = static_cast<float>(low + rng.uniform() * (high - low));
    };
    for (Numbers& rows : rows_) random(rows, kTokens * kCols, -2, 2);
    for (float& x : rows_[3]) x = kind == Kind::given ? 0.5F + x / 4 : x;
    for (float& x : rows_[4]) x = 0.5F + x / 4;
    for (Numbers& vector : vectors_) random(vector, kCols, -1, 1);
    for (float& x : vectors_[5]) x = -1.5F + x;
    for (const auto& group : pages_.assigned()) group->region().clear(0);
  }

  Numbers step(const std::vector<SequencePart>& parts) {
    BatchBuilder batch;
    std::array<Numbers, 5> rows;
    for (const SequencePart& part : parts) {
      batch.begin_sequence(part.first, {});
      batch.set_state(part.before, part.after);
      batch.add(std::vector<int32_t>(static_cast<size_t>(part.n)));
      for (size_t i = 0; i < rows.size(); ++i) {
        const auto at = rows_[i].begin() + part.first * kCols;
        rows[i].insert(rows[i].end(), at, at + part.n * kCols);
      }
    }
    Device& device = pages_.device();
    std::vector<Vector> v;
    for (const Numbers& numbers : vectors_) v.push_back(*device.vector(numbers));
    std::vector<TestView> in;
    for (const Numbers& numbers : rows) {
      in.emplace_back(device, numbers.data(), batch.n_rows(), kCols);
    }
    const TestView out(device, nullptr, batch.n_rows(), kCols);
    ops_->begin(batch.batch(), {});
    if (kind_ == Kind::shift) {
      ops_->token_shift(out.view(), in[0].view(), {.layer = 1, .state_begin = kBefore});
      ops_->lerp(out.view(), in[0].view(), out.view(), in[1].view());
    } else if (kind_ == Kind::average) {
      ops_->average(in[2].view(), in[1].view(), in[2].view(),
                    {.layer = 1, .state_begin = kBefore, .decay = &v[5], .bonus = &v[0]});
      return in[2].numbers();
    } else {
      const bool corrects = kind_ == Kind::corrected;
      const TimeDecay decay = kind_ == Kind::given   ? TimeDecay::given
                              : kind_ == Kind::rates ? TimeDecay::rates
                                                     : TimeDecay::bounded_rates;
      ops_->time_mix(out.view(),
                     {in[0].view(), in[1].view(), in[2].view(), in[3].view(), in[4].view()},
                     {.layer = 1,
                      .state_begin = kBefore,
                      .head_dim = kHeadDim,
                      .decay = decay,
                      .bonus = &v[0],
                      .removed_key = corrects ? &v[1] : nullptr,
                      .key_share = corrects ? &v[2] : nullptr,
                      .norm_weight = &v[3],
                      .norm_bias = &v[4],
                      .norm_eps = kEps});
    }
    return out.numbers();
  }

  Doubles expected() const {
    if (kind_ == Kind::shift) return expected_shift();
    return kind_ == Kind::average ? expected_average() : expected_mix();
  }

 private:
  static KvPages make_pages() {
    const int64_t state_bytes = (kBefore + kCols * kHeadDim) * int64_t{sizeof(float)};
    const CacheLayout layout = {{{{1, 4, 4}}, {{.state_bytes = state_bytes}}}};
    return std::move(*KvPages::create(layout, 4, FrameLimits{.n_drafts = 8}));
  }
  double in(size_t rows, int64_t token, int64_t col) const {
    return double{rows_[rows][static_cast<size_t>(token * kCols + col)]};
  }
  double of(size_t vector, int64_t col) const {
    return double{vectors_[vector][static_cast<size_t>(col)]};
  }

  Doubles expected_shift() const {
    Doubles out;
    for (int64_t t = 0; t < kTokens; ++t) {
      for (int64_t c = 0; c < kCols; ++c) {
        const double before = t > 0 ? in(0, t - 1, c) : 0;
        out.push_back(in(0, t, c) + (before - in(0, t, c)) * in(1, t, c));
      }
    }
    return out;
  }
  Doubles expected_average() const {
    Doubles out;
    for (int64_t t = 0; t < kTokens; ++t) {
      for (int64_t c = 0; c < kCols; ++c) {
        double sum = 0, weights = 0;
        for (int64_t past = 0; past <= t; ++past) {
          const double more = past == t ? of(0, c) : static_cast<double>(t - 1 - past) * of(5, c);
          const double weight = std::exp(in(1, past, c) + more);
          sum += weight * in(2, past, c);
          weights += weight;
        }
        out.push_back(sum / weights);
      }
    }
    return out;
  }
  double kept(int64_t t, int64_t c) const {
    const double w = in(3, t, c);
    if (kind_ == Kind::given) return w;
    if (kind_ == Kind::rates) return std::exp(-std::exp(w));
    return std::exp(-0.606531 * sigmoid(w));
  }
  // out = norm(x) of a head's numbers.
  void norm_head(Doubles& x, int64_t first) const {
    double mean = 0, squares = 0;
    for (const double one : x) mean += one / kHeadDim;
    for (const double one : x) squares += (one - mean) * (one - mean) / kHeadDim;
    for (int64_t j = 0; j < kHeadDim; ++j) {
      double& one = x[static_cast<size_t>(j)];
      one = (one - mean) / std::sqrt(squares + kEps) * of(3, first + j) + of(4, first + j);
    }
  }
  Doubles expected_mix() const {
    Doubles out(kTokens * kCols);
    for (int64_t first = 0; first < kCols; first += kHeadDim) {
      std::array<std::array<double, kHeadDim>, kHeadDim> s{};
      for (int64_t t = 0; t < kTokens; ++t) mix_row(s, first, t, out);
    }
    return out;
  }
  void mix_row(std::array<std::array<double, kHeadDim>, kHeadDim>& s, int64_t first, int64_t t,
               Doubles& out) const {
    constexpr auto n = static_cast<size_t>(kHeadDim);
    const bool corrects = kind_ == Kind::corrected;
    Doubles u(n), key(n), before(n), after(n), removed(n);
    double own = 0, length = 0;
    for (size_t i = 0; i < n; ++i) {
      const auto c = first + static_cast<int64_t>(i);
      u[i] = in(1, t, c) * of(1, c);
      length += u[i] * u[i];
      key[i] = in(1, t, c) * (corrects ? 1 + (in(4, t, c) - 1) * of(2, c) : 1);
      own += in(0, t, c) * of(0, c) * key[i];
    }
    for (double& one : u) one /= std::sqrt(length);
    for (size_t j = 0; j < n; ++j) {
      for (size_t i = 0; i < n; ++i) {
        before[j] += in(0, t, first + static_cast<int64_t>(i)) * s[i][j];
        removed[j] += u[i] * s[i][j];
      }
    }
    for (size_t j = 0; j < n; ++j) {
      const double v = in(2, t, first + static_cast<int64_t>(j));
      for (size_t i = 0; i < n; ++i) {
        const auto c = first + static_cast<int64_t>(i);
        s[i][j] = s[i][j] * kept(t, c) + key[i] * v;
        if (corrects) s[i][j] -= u[i] * in(4, t, c) * removed[j];
        after[j] += in(0, t, c) * s[i][j];
      }
      if (!corrects) before[j] += own * v;
    }
    Doubles& result = corrects ? after : before;
    norm_head(result, first);
    for (size_t j = 0; j < n; ++j) {
      const auto c = first + static_cast<int64_t>(j);
      out[static_cast<size_t>(t * kCols + c)] = result[j] + (corrects ? own * in(2, t, c) : 0);
    }
  }

  Kind kind_;
  WorkerPool pool_;
  KvPages pages_;
  std::unique_ptr<CpuOps> ops_;
  std::array<Numbers, 5> rows_;     // r, k, v, decay, rate
  std::array<Numbers, 6> vectors_;  // bonus, removed key, key share, norm's two, decay of averages
};

class CpuTimeMix : public testing::TestWithParam<Kind> {};

TEST_P(CpuTimeMix, IsWhatItMeans) {
  for (const Kernels* kernels : all_kernels()) {
    MixWorld world(*kernels, GetParam(), 1);
    const Numbers y = world.step({{.n = kTokens}});
    const Doubles want = world.expected();
    ASSERT_EQ(y.size(), want.size());
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], want[i], 2e-4 * (1 + std::fabs(want[i]))) << kernels->isa << ", " << i;
    }
  }
}

TEST_P(CpuTimeMix, ChunksGiveTheBytesOfTheWhole) {
  MixWorld world(portable_kernels(), GetParam(), 1);
  expect_chunks_give_the_whole(world, kTokens);
}

TEST_P(CpuTimeMix, SequencesOfABatchAndThreadsDoNotMatter) {
  MixWorld alone(portable_kernels(), GetParam(), 1), together(portable_kernels(), GetParam(), 3);
  expect_batches_and_threads_do_not_matter(alone, together, kTokens);
}

INSTANTIATE_TEST_SUITE_P(Kinds, CpuTimeMix,
                         testing::Values(Kind::shift, Kind::average, Kind::given, Kind::rates,
                                         Kind::corrected));

}  // namespace
}  // namespace ruv::cpu_time_mix_test
