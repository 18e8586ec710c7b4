// The matrix memory against its meaning in double precision, without a number that keeps exponents
// small, and its running states against whole sequences.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/rng.h"
#include "device/batch_builder.h"
#include "device/cpu/cpu_ops.h"
#include "device/cpu/test_states.h"
#include "device/test_view.h"

namespace ruv::cpu_matrix_memory_test {
namespace {

using Numbers = std::vector<float>;

constexpr int64_t kTokens = 18;
constexpr int64_t kHeads = 3, kKeys = 7, kValues = 21;
constexpr int64_t kBefore = 5;  // float32 of the running state that another operation has
constexpr float kEps = 0.01F;
// Of a row of q, k, v and the gates of input and forgetting.
constexpr std::array<int64_t, 5> kCols = {kHeads * kKeys, kHeads* kKeys, kHeads* kValues, kHeads,
                                          kHeads};

// One layer with running states, and a sequence of random inputs.
class MemoryWorld {
 public:
  MemoryWorld(const Kernels& kernels, int n_threads) : pool_(n_threads), pages_(make_pages()) {
    const OpsLimits limits = {.max_rows = 2 * kTokens,
                              .max_k = 4,
                              .max_head_dim = 4,
                              .max_group = 1,
                              .max_state_keys = kKeys,
                              .max_state_values = kValues};
    ops_ = std::move(*CpuOps::create(kernels, pool_, pages_, limits));
    Rng rng(11);
    for (size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].resize(static_cast<size_t>(kTokens * kCols[i]));
      const double widest = i < 3 ? 2 : 5;
      for (float& x : rows_[i]) x = static_cast<float>((2 * rng.uniform() - 1) * widest);
    }
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
        const auto at = rows_[i].begin() + part.first * kCols[i];
        rows[i].insert(rows[i].end(), at, at + part.n * kCols[i]);
      }
    }
    Device& device = pages_.device();
    const int64_t n = batch.n_rows();
    const TestView q(device, rows[0].data(), n, kCols[0]), k(device, rows[1].data(), n, kCols[1]);
    const TestView v(device, rows[2].data(), n, kCols[2]);
    const TestView input(device, rows[3].data(), n, kHeads);
    const TestView forget(device, rows[4].data(), n, kHeads);
    const TestView out(device, nullptr, n, kHeads * kValues);
    ops_->begin(batch.batch(), {});
    ops_->matrix_memory(out.view(), {q.view(), k.view(), v.view(), input.view(), forget.view()},
                        {.layer = 1,
                         .state_begin = kBefore,
                         .n_heads = kHeads,
                         .key_dim = kKeys,
                         .value_dim = kValues,
                         .eps = kEps});
    return out.numbers();
  }

  // Each token's share is the product of what is forgotten after it and of its own gate, over that
  // of the largest share, which starts as that of a token of gate 0 before the text.
  std::vector<double> expected() const {
    std::vector<double> out;
    for (size_t t = 0; t < kTokens; ++t) {
      for (size_t h = 0; h < kHeads; ++h) {
        const std::vector<double> logs = logs_at(t, h);
        const double most = *std::max_element(logs.begin(), logs.end());
        std::vector<double> sum(kValues);
        double divisor = 0;
        for (size_t s = 0; s <= t; ++s) {
          const double score = product(t, s, h) * std::exp(logs[s] - most);
          divisor += score;
          const float* const v = rows_[2].data() + (s * kHeads + h) * kValues;
          for (size_t j = 0; j < kValues; ++j) sum[j] += score * double{v[j]};
        }
        divisor = std::max(std::abs(divisor), std::exp(-most)) + double{kEps};
        for (const double one : sum) out.push_back(one / divisor);
      }
    }
    return out;
  }

 private:
  // The logarithms of the shares at token t of those up to it, and at last of the text's beginning.
  std::vector<double> logs_at(size_t t, size_t h) const {
    std::vector<double> logs(t + 2);
    double kept = 0;
    for (size_t s = t + 1; s-- > 0;) {
      logs[s] = kept + double{rows_[3][s * kHeads + h]};
      kept -= std::log1p(std::exp(-double{rows_[4][s * kHeads + h]}));
    }
    logs[t + 1] = kept;
    return logs;
  }
  double product(size_t t, size_t s, size_t h) const {
    double sum = 0;
    for (size_t d = 0; d < kKeys; ++d) {
      sum += double{rows_[0][(t * kHeads + h) * kKeys + d]} *
             double{rows_[1][(s * kHeads + h) * kKeys + d]};
    }
    return sum / std::sqrt(double{kKeys});
  }
  static KvPages make_pages() {
    const int64_t n_state = kHeads * (kKeys * kValues + kKeys + 1);
    const int64_t state_bytes = (kBefore + n_state) * int64_t{sizeof(float)};
    const CacheLayout layout = {{{{1, 4, 4}}, {{.state_bytes = state_bytes}}}};
    return std::move(*KvPages::create(layout, 4, FrameLimits{.n_drafts = 8}));
  }

  WorkerPool pool_;
  KvPages pages_;
  std::unique_ptr<CpuOps> ops_;
  std::array<Numbers, 5> rows_;
};

TEST(CpuMatrixMemory, IsWhatItMeansInTheSameBytesEverywhere) {
  Numbers first;
  for (const Kernels* kernels : all_kernels()) {
    MemoryWorld world(*kernels, 1);
    const Numbers y = world.step({{.n = kTokens}});
    const std::vector<double> want = world.expected();
    ASSERT_EQ(y.size(), want.size());
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], want[i], 1e-5 + 1e-5 * std::abs(want[i]))
          << kernels->isa << ", number " << i;
    }
    if (first.empty()) first = y;
    EXPECT_TRUE(!kernels->portable || same_bytes(y, first)) << kernels->isa;
  }
}

TEST(CpuMatrixMemory, ChunksGiveTheBytesOfTheWhole) {
  MemoryWorld world(portable_kernels(), 1);
  expect_chunks_give_the_whole(world, kTokens);
}

TEST(CpuMatrixMemory, SequencesOfABatchAndThreadsDoNotMatter) {
  MemoryWorld alone(portable_kernels(), 1), together(portable_kernels(), 3);
  expect_batches_and_threads_do_not_matter(alone, together, kTokens);
}

}  // namespace
}  // namespace ruv::cpu_matrix_memory_test
