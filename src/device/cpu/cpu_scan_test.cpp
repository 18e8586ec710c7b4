// Selective scans against their meaning in double precision, and their running states against whole
// sequences.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/rng.h"
#include "device/batch_builder.h"
#include "device/cpu/cpu_ops.h"
#include "device/cpu/test_states.h"
#include "device/test_view.h"

namespace ruv::cpu_scan_test {
namespace {

using Numbers = std::vector<float>;

constexpr int64_t kTokens = 21;
constexpr int64_t kBefore = 5;  // float32 of the running state that another operation has

struct ScanShape {
  bool by_head = false;
  int64_t n_heads = 1;  // of columns, as many heads of one number
  int64_t n_groups = 1;
  int64_t head_dim = 1;
  int64_t n_state = 1;
  ScanSteps steps = {};

  int64_t n_cols() const { return n_heads * head_dim; }
  int64_t n_matrix() const { return n_cols() * n_state; }
};

ScanShape columns_of(int64_t n_cols, int64_t n_state) {
  return {.n_heads = n_cols, .n_groups = 1, .n_state = n_state};
}
ScanShape heads_of(int64_t n_heads, int64_t n_groups, int64_t head_dim, int64_t n_state,
                   ScanSteps steps = {}) {
  return {true, n_heads, n_groups, head_dim, n_state, steps};
}

// One layer with running states, and a sequence of random inputs.
class ScanWorld {
 public:
  ScanWorld(const Kernels& kernels, const ScanShape& shape, int n_threads)
      : s_(shape), pool_(n_threads), pages_(make_pages(shape)) {
    const OpsLimits limits = {.max_rows = 2 * kTokens,
                              .max_k = 4,
                              .max_head_dim = 4,
                              .max_group = 1,
                              .max_state_keys = shape.n_state,
                              .max_state_values = std::max(kScanColumns, shape.head_dim)};
    ops_ = std::move(*CpuOps::create(kernels, pool_, pages_, limits));
    Rng rng(17);
    const auto random = [&](int64_t n, double low, double high) {
      Numbers numbers(static_cast<size_t>(n));
      for (float& x : numbers) x = static_cast<float>(low + rng.uniform() * (high - low));
      return numbers;
    };
    x_ = random(kTokens * s_.n_cols(), -2, 2);
    step_ = random(kTokens * s_.n_heads, -3, 3);
    b_ = random(kTokens * s_.n_groups * s_.n_state, -2, 2);
    c_ = random(kTokens * s_.n_groups * s_.n_state, -2, 2);
    rate_ = random(s_.by_head ? s_.n_heads : s_.n_matrix(), -2, -0.1);
    bias_ = random(s_.n_heads, -1, 1);
    skip_ = random(s_.n_heads, -1, 1);
    for (const auto& group : pages_.assigned()) group->region().clear(0);
  }

  // The results of all parts, one after the other, as one step computes them.
  Numbers step(const std::vector<SequencePart>& parts) {
    BatchBuilder batch;
    std::array<Numbers, 4> rows;
    for (const SequencePart& part : parts) {
      batch.begin_sequence(part.first, {});
      batch.set_state(part.before, part.after);
      batch.add(std::vector<int32_t>(static_cast<size_t>(part.n)));
      for (int64_t i = part.first; i < part.first + part.n; ++i) {
        const Numbers* const from[] = {&x_, &step_, &b_, &c_};
        for (size_t k = 0; k < rows.size(); ++k) {
          const int64_t n = std::ssize(*from[k]) / kTokens;
          // Of heads all but the steps are one row.
          Numbers& to = rows[s_.by_head && k >= 2 ? 0 : k];
          to.insert(to.end(), from[k]->begin() + i * n, from[k]->begin() + (i + 1) * n);
        }
      }
    }
    Device& device = pages_.device();
    const Vector rate = *device.vector(rate_);
    const Vector bias = *device.vector(bias_);
    const Vector skip = *device.vector(skip_);
    ScanSteps steps = s_.steps;
    steps.bias = &bias;
    const int64_t n_rows = batch.n_rows();
    const auto view = [&](size_t k) {
      return TestView(device, rows[k].data(), n_rows, std::ssize(rows[k]) / n_rows);
    };
    const TestView out(device, nullptr, n_rows, s_.n_cols());
    const TestView x = view(0);
    const TestView step = view(1);
    ops_->begin(batch.batch(), {});
    if (s_.by_head) {
      ops_->scan_heads(out.view(), {x.view(), step.view()},
                       {.layer = 1,
                        .state_begin = kBefore,
                        .n_heads = s_.n_heads,
                        .n_groups = s_.n_groups,
                        .head_dim = s_.head_dim,
                        .n_state = s_.n_state,
                        .rate = &rate,
                        .skip = &skip,
                        .steps = steps});
      return out.numbers();
    }
    const TestView b = view(2);
    const TestView c = view(3);
    ops_->scan_columns(
        out.view(), {x.view(), step.view(), b.view(), c.view()},
        {.layer = 1, .state_begin = kBefore, .rate = &rate, .skip = &skip, .steps = steps});
    return out.numbers();
  }

  // Of the whole sequence, in double precision.
  std::vector<double> expected() const {
    std::vector<double> out;
    std::vector<double> state(static_cast<size_t>(s_.n_matrix()));
    for (int64_t t = 0; t < kTokens; ++t) {
      for (int64_t col = 0; col < s_.n_cols(); ++col) {
        const int64_t head = col / s_.head_dim;
        const double number = at(step_, t * s_.n_heads + head) * double{s_.steps.scale};
        const double d = std::clamp(std::log1p(std::exp(number + at(bias_, head))),
                                    double{s_.steps.least}, double{s_.steps.most});
        const double x = at(x_, t * s_.n_cols() + col);
        const int64_t group = head / (s_.n_heads / s_.n_groups);
        double sum = 0;
        for (int64_t i = 0; i < s_.n_state; ++i) {
          const double rate = at(rate_, s_.by_head ? head : i * s_.n_cols() + col);
          const int64_t in_row = (t * s_.n_groups + group) * s_.n_state + i;
          double& one = state[static_cast<size_t>(i * s_.n_cols() + col)];
          one = std::exp(rate * d) * one + at(b_, in_row) * d * x;
          sum += at(c_, in_row) * one;
        }
        out.push_back(sum + at(skip_, head) * x);
      }
    }
    return out;
  }

 private:
  static double at(const Numbers& numbers, int64_t i) {
    return double{numbers[static_cast<size_t>(i)]};
  }
  static KvPages make_pages(const ScanShape& shape) {
    const int64_t state_bytes = (kBefore + shape.n_matrix()) * int64_t{sizeof(float)};
    const CacheLayout layout = {{{{1, 4, 4}}, {{.state_bytes = state_bytes}}}};
    return std::move(*KvPages::create(layout, 4, FrameLimits{.n_drafts = 8}));
  }

  ScanShape s_;
  WorkerPool pool_;
  KvPages pages_;
  std::unique_ptr<CpuOps> ops_;
  Numbers x_, step_, b_, c_, rate_, bias_, skip_;
};

const ScanShape kShapes[] = {
    columns_of(1, 1),     columns_of(70, 5),
    columns_of(150, 16),  heads_of(1, 1, 1, 1),
    heads_of(6, 3, 5, 7), heads_of(4, 1, 16, 24, {.scale = 0.5F, .least = 0.2F, .most = 1.5F})};

TEST(CpuScan, IsWhatItMeans) {
  for (const Kernels* kernels : all_kernels()) {
    for (const ScanShape& shape : kShapes) {
      ScanWorld world(*kernels, shape, 1);
      const Numbers y = world.step({{.n = kTokens}});
      const std::vector<double> want = world.expected();
      ASSERT_EQ(y.size(), want.size());
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_NEAR(y[i], want[i], 1e-4) << kernels->isa << ", number " << i;
      }
    }
  }
}

TEST(CpuScan, ChunksGiveTheBytesOfTheWhole) {
  for (const ScanShape& shape : kShapes) {
    ScanWorld world(portable_kernels(), shape, 1);
    expect_chunks_give_the_whole(world, kTokens);
  }
}

TEST(CpuScan, SequencesOfABatchAndThreadsDoNotMatter) {
  for (const ScanShape& shape : kShapes) {
    ScanWorld alone(portable_kernels(), shape, 1), together(portable_kernels(), shape, 3);
    expect_batches_and_threads_do_not_matter(alone, together, kTokens);
  }
}

// The groups of a row are normalised with weights of their own.
TEST(CpuNorm, WeightsOfSeveralRowsAreTakenByTurns) {
  WorkerPool pool(1);
  KvPages pages = std::move(*KvPages::create({{{{1, 4, 4}}}}, 4, FrameLimits{}));
  const auto ops = std::move(*CpuOps::create(portable_kernels(), pool, pages, {4, 4, 4, 1}));
  Device& device = pages.device();
  const Numbers x = {3, 4, 6, 8, -3, 4, 8, 6};
  const Vector weight = *device.vector({1, 2, 3, 4});
  const TestView rows(device, x.data(), 4, 2);
  ops->norm(rows.view(), rows.view(), weight, {}, {Norm::rms, 0});
  const double root = std::sqrt(2.0);
  const Numbers y = rows.numbers();
  const double want[] = {0.6, 1.6, 1.8, 3.2, -0.6, 1.6, 2.4, 2.4};
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], root * want[i], 1e-6) << i;
}

}  // namespace
}  // namespace ruv::cpu_scan_test
