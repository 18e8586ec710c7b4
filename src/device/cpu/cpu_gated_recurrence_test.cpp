// The gated linear recurrence against its meaning in double precision, and its running states
// against whole sequences.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/rng.h"
#include "device/batch_builder.h"
#include "device/cpu/cpu_ops.h"
#include "device/cpu/test_states.h"
#include "device/test_view.h"

namespace ruv::cpu_gated_recurrence_test {
namespace {

using Numbers = std::vector<float>;

constexpr int64_t kTokens = 18;
constexpr int64_t kCols = 150;
constexpr int64_t kBefore = 5;  // float32 of the running state that another operation has

// One layer with running states, and a sequence of random inputs and gates.
class RecurrenceWorld {
 public:
  RecurrenceWorld(const Kernels& kernels, int n_threads) : pool_(n_threads), pages_(make_pages()) {
    ops_ = std::move(*CpuOps::create(kernels, pool_, pages_, {2 * kTokens, 4, 4, 1}));
    Rng rng(11);
    const auto random = [&](Numbers& numbers, int64_t n, double low, double high) {
      numbers.resize(static_cast<size_t>(n));
      for (float& x : numbers) x = static_cast<float>(low + rng.uniform() * (high - low));
    };
    for (Numbers& rows : rows_) random(rows, kTokens * kCols, -2, 2);
    random(vectors_[0], kCols, -1, 1);
    random(vectors_[1], kCols, -1, 1);
    random(vectors_[2], kCols, -4, -0.1);
    for (const auto& group : pages_.assigned()) group->region().clear(0);
  }

  Numbers step(const std::vector<SequencePart>& parts) {
    BatchBuilder batch;
    std::array<Numbers, 3> rows;
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
    const Vector input_bias = *device.vector(vectors_[0]);
    const Vector decay_bias = *device.vector(vectors_[1]);
    const Vector rate = *device.vector(vectors_[2]);
    const TestView x(device, rows[0].data(), batch.n_rows(), kCols);
    const TestView input(device, rows[1].data(), batch.n_rows(), kCols);
    const TestView decay(device, rows[2].data(), batch.n_rows(), kCols);
    ops_->begin(batch.batch(), {});
    ops_->gated_recurrence(x.view(), input.view(), decay.view(),
                           {.layer = 1,
                            .state_begin = kBefore,
                            .input_bias = &input_bias,
                            .decay_bias = &decay_bias,
                            .rate = &rate});
    return x.numbers();
  }

  std::vector<double> expected() const {
    std::vector<double> out;
    std::vector<double> state(kCols);
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    for (size_t t = 0; t < kTokens; ++t) {
      for (size_t c = 0; c < kCols; ++c) {
        const size_t at = t * kCols + c;
        const double opened = sigmoid(double{rows_[1][at]} + double{vectors_[0][c]});
        const double rate =
            double{vectors_[2][c]} * sigmoid(double{rows_[2][at]} + double{vectors_[1][c]});
        const double share = t == 0 ? 1 : std::sqrt(1 - std::exp(2 * rate));
        state[c] = std::exp(rate) * state[c] + double{rows_[0][at]} * opened * share;
        out.push_back(state[c]);
      }
    }
    return out;
  }

 private:
  static KvPages make_pages() {
    const int64_t state_bytes = (kBefore + kCols) * int64_t{sizeof(float)};
    const CacheLayout layout = {{{{1, 4, 4}}, {{.state_bytes = state_bytes}}}};
    return std::move(*KvPages::create(layout, 4, FrameLimits{.n_drafts = 8}));
  }

  WorkerPool pool_;
  KvPages pages_;
  std::unique_ptr<CpuOps> ops_;
  std::array<Numbers, 3> rows_;     // inputs, their gate, the decay's gate
  std::array<Numbers, 3> vectors_;  // the gates' biases, the rate
};

TEST(CpuGatedRecurrence, IsWhatItMeans) {
  for (const Kernels* kernels : all_kernels()) {
    RecurrenceWorld world(*kernels, 1);
    const Numbers y = world.step({{.n = kTokens}});
    const std::vector<double> want = world.expected();
    ASSERT_EQ(y.size(), want.size());
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], want[i], 1e-5) << kernels->isa << ", number " << i;
    }
  }
}

TEST(CpuGatedRecurrence, ChunksGiveTheBytesOfTheWhole) {
  RecurrenceWorld world(portable_kernels(), 1);
  expect_chunks_give_the_whole(world, kTokens);
}

TEST(CpuGatedRecurrence, SequencesOfABatchAndThreadsDoNotMatter) {
  RecurrenceWorld alone(portable_kernels(), 1), together(portable_kernels(), 3);
  expect_batches_and_threads_do_not_matter(alone, together, kTokens);
}

}  // namespace
}  // namespace ruv::cpu_gated_recurrence_test
