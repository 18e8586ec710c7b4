// Which keys attention reads: the choice against its plain meaning, and attention to what is chosen
// against attention to those keys alone.
#include "device/cpu/cpu_choose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/batch_builder.h"
#include "device/cpu/cpu_ops.h"
#include "device/test_numbers.h"
#include "device/test_view.h"
#include "kernels/kernels.h"
#include "tensor/half.h"

namespace ruv {
namespace {

constexpr int64_t kHeads = 3, kDim = 5, kPages = 40, kAttended = 4;

// Few different numbers, exact in f16, so that many scores are equal.
Numbers coarse_numbers(int64_t n, uint64_t seed) {
  Numbers x = random_numbers(n, seed);
  for (float& v : x) v = std::round(v * 2);
  return x;
}

// An index in the second layer of the cache, and one head of attention in the first.
class ChooseWorld {
 public:
  ChooseWorld(int64_t n_tokens, int n_threads, bool coarse, const Kernels& kernels)
      : pool_(n_threads),
        pages_(
            std::move(*KvPages::create({{{{1, kAttended, kAttended}}, {{1, kDim, 0}}}}, kPages))) {
    ops_ = std::move(*CpuOps::create(kernels, pool_, pages_,
                                     {.max_rows = 1024,
                                      .max_k = 64,
                                      .max_head_dim = 8,
                                      .max_group = 1,
                                      .max_index_heads = kHeads}));
    for (PageId page = kPages - 1; page >= 0; --page) ids_.push_back(page);
    for (const PageId page : ids_) pages_.clear(page);
    const auto numbers = [&](int64_t n, uint64_t seed) {
      Numbers x = coarse ? coarse_numbers(n, seed) : random_numbers(n, seed);
      for (float& v : x) v = f32_from_f16(f16_from_f32(v));
      return x;
    };
    q = numbers(n_tokens * kHeads * kDim, 1);
    k = numbers(n_tokens * kDim, 2);
    weights = numbers(n_tokens * kHeads, 3);
    attended = numbers(n_tokens * kAttended, 4);
  }

  // Rows of this many choices for all tokens, computed by steps of n rows.
  Numbers choose(int64_t n_chosen, int64_t n) {
    return steps(n, n_chosen, [&](View chosen, Range rows) { step(chosen, rows); });
  }
  // What attention gives where it reads what was chosen.
  Numbers attend(int64_t n_chosen, int64_t n) {
    return steps(n, kAttended, [&](View out, Range rows) {
      const int64_t n_rows = rows.end - rows.begin;
      const TestView chosen(pages_.device(), nullptr, n_rows, n_chosen);
      step(chosen.view(), rows);
      const TestView x = part(attended, rows, kAttended);
      ops_->store_kv(0, x.view(), x.view(), {});
      AttendParams params = {
          .n_heads = 1, .n_kv_heads = 1, .key_dim = kAttended, .value_dim = kAttended};
      params.chosen = chosen.view();
      ops_->attend(out, x.view(), params);
    });
  }

  Numbers q, k, weights, attended;

 private:
  template <class F>
  Numbers steps(int64_t n, int64_t n_cols, const F& compute) {
    const int64_t n_tokens = std::ssize(k) / kDim;
    Numbers all;
    for (int64_t begin = 0; begin < n_tokens; begin += n) {
      const Range rows = {begin, std::min(begin + n, n_tokens)};
      BatchBuilder batch;
      batch.begin_sequence(begin, ids_);
      batch.add(std::vector<int32_t>(static_cast<size_t>(rows.end - begin), 0));
      ops_->begin(batch.batch(), {});
      const TestView out(pages_.device(), nullptr, rows.end - begin, n_cols);
      compute(out.view(), rows);
      const Numbers part = out.numbers();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  TestView part(const Numbers& all, Range rows, int64_t n_cols) {
    return {pages_.device(), all.data() + rows.begin * n_cols, rows.end - rows.begin, n_cols};
  }
  void step(View chosen, Range rows) {
    const TestView keys = part(k, rows, kDim);
    const TestView queries = part(q, rows, kHeads * kDim);
    const TestView shares = part(weights, rows, kHeads);
    ops_->store_kv(1, keys.view(), {keys.view().start, keys.view().n_rows, 0}, {});
    ops_->choose_keys(chosen, queries.view(), shares.view(),
                      {.layer = 1, .n_heads = kHeads, .head_dim = kDim});
  }

  WorkerPool pool_;
  KvPages pages_;
  std::unique_ptr<CpuOps> ops_;
  std::vector<PageId> ids_;
};

// The same by sorting. Zeros where a row sees no more keys.
Numbers sorted_choices(const ChooseWorld& world, int64_t n_chosen) {
  Numbers all;
  for (int64_t row = 0; row < std::ssize(world.k) / kDim; ++row) {
    std::vector<std::pair<float, int64_t>> keys;
    for (int64_t key = 0; key <= row; ++key) {
      float score = 0;
      for (int64_t head = 0; head < kHeads; ++head) {
        float product = 0;
        for (int64_t d = 0; d < kDim; ++d) {
          product += world.q[static_cast<size_t>((row * kHeads + head) * kDim + d)] *
                     world.k[static_cast<size_t>(key * kDim + d)];
        }
        score += world.weights[static_cast<size_t>(row * kHeads + head)] * std::max(0.0F, product);
      }
      keys.emplace_back(std::isnan(score) ? std::numeric_limits<float>::infinity() : -score, key);
    }
    Numbers chosen(static_cast<size_t>(n_chosen), 0.0F);
    if (row >= n_chosen) {
      std::sort(keys.begin(), keys.end());
      for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = static_cast<float>(keys[i].second);
      std::sort(chosen.begin(), chosen.end());
    }
    all.insert(all.end(), chosen.begin(), chosen.end());
  }
  return all;
}

class ChooseKeys : public testing::TestWithParam<const Kernels*> {};

TEST_P(ChooseKeys, TakesTheBestAndOfEqualOnesTheFirst) {
  for (const int64_t n_chosen : {1, 7, 64, 300}) {
    ChooseWorld world(530, 1, true, *GetParam());
    const Numbers want = sorted_choices(world, n_chosen);
    EXPECT_EQ(world.choose(n_chosen, 530), want) << n_chosen;
  }
}

TEST_P(ChooseKeys, IsTheSameInStepsOfAnySizeOnAnyNumberOfThreads) {
  const Numbers want = ChooseWorld(600, 1, false, *GetParam()).choose(33, 600);
  for (const int n_threads : {1, 3}) {
    for (const int64_t n : {1, 2, 17, 256, 600}) {
      EXPECT_EQ(ChooseWorld(600, n_threads, false, *GetParam()).choose(33, n), want)
          << n_threads << " threads, steps of " << n;
    }
  }
}

TEST_P(ChooseKeys, ScoresThatAreNoNumbersComeLast) {
  ChooseWorld world(40, 1, true, *GetParam());
  world.k[3 * kDim] = std::numeric_limits<float>::quiet_NaN();
  for (size_t i = 12 * kHeads; i < 13 * kHeads; ++i) {
    world.weights[i] = std::numeric_limits<float>::quiet_NaN();
  }
  const Numbers got = world.choose(5, 40);
  EXPECT_EQ(got, sorted_choices(world, 5));
  EXPECT_EQ(Numbers(got.begin() + 12 * 5, got.begin() + 13 * 5), Numbers({0, 1, 2, 3, 4}));
}

TEST_P(ChooseKeys, AttentionReadsTheChosenAlone) {
  constexpr int64_t kTokens = 530, kChosen = 19;
  ChooseWorld world(kTokens, 1, false, *GetParam());
  const Numbers choices = world.choose(kChosen, kTokens);
  const Numbers got = ChooseWorld(kTokens, 1, false, *GetParam()).attend(kChosen, kTokens);
  for (int64_t row = 0; row < kTokens; ++row) {
    std::vector<int64_t> keys;
    for (int64_t i = 0; i < std::min(row + 1, kChosen); ++i) {
      keys.push_back(row < kChosen
                         ? i
                         : static_cast<int64_t>(choices[static_cast<size_t>(row * kChosen + i)]));
    }
    double sum = 0;
    double want[kAttended] = {};
    const auto x = [&](int64_t at, int64_t d) {
      return double{world.attended[static_cast<size_t>(at * kAttended + d)]};
    };
    for (const int64_t key : keys) {
      double score = 0;
      for (int64_t d = 0; d < kAttended; ++d) score += x(row, d) * x(key, d);
      sum += std::exp(score);
      for (int64_t d = 0; d < kAttended; ++d) want[d] += std::exp(score) * x(key, d);
    }
    for (int64_t d = 0; d < kAttended; ++d) {
      EXPECT_NEAR(got[static_cast<size_t>(row * kAttended + d)], want[d] / sum, 1e-5) << row;
    }
  }
  for (const int64_t n : {1, 16, 100}) {
    EXPECT_EQ(ChooseWorld(kTokens, 3, false, *GetParam()).attend(kChosen, n), got) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, ChooseKeys, testing::ValuesIn(all_kernels()),
                         [](const auto& test) { return std::string(test.param->isa); });

}  // namespace
}  // namespace ruv
