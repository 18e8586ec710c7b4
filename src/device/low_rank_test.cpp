// Products of low rank beside a product, on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device/batch_builder.h"
#include "device/cpu/cpu_ops.h"
#include "device/test_numbers.h"
#include "device/test_view.h"

namespace ruv {
namespace {

constexpr int64_t kIn = 70, kOut = 37, kMaxRank = 19;

// Matrices on the host.
struct HostLowRank {
  int64_t rank;
  float scale;
  Numbers a, b;

  HostLowRank(int64_t rank_, float scale_, uint64_t seed)
      : rank(rank_),
        scale(scale_),
        a(random_numbers(rank_ * kIn, seed)),
        b(random_numbers(kOut * rank_, seed + 1)) {}
};

class LowRankWorld {
 public:
  explicit LowRankWorld(const Kernels& kernels, int n_threads = 1, int64_t rows_at_a_time = 4)
      : pool_(n_threads),
        pages_(std::move(
            *KvPages::create(CacheLayout::uniform(1, {1, 4, 4}), 1, {}, new_device(kernels)))),
        ops_(std::move(*CpuOps::create(kernels, pool_, pages_, {256, kIn, 4, 1}))),
        inner_(pages_.device(), nullptr, rows_at_a_time, kMaxRank),
        outer_(pages_.device(), nullptr, rows_at_a_time, kOut) {}

  // Its only product is number 1.
  Adapter adapter(const HostLowRank& host) {
    LowRank added{pack(host.a, kIn), pack(host.b, host.rank), host.scale};
    return {{LowRank(), std::move(added)}};
  }
  Vector vector(const Numbers& numbers) { return std::move(*pages_.device().vector(numbers)); }
  Numbers add(const Batch& batch, const Numbers& out, const Numbers& x, size_t product = 1) {
    const TestView sum(pages_.device(), out.data(), batch.n_rows(), kOut);
    const TestView input(pages_.device(), x.data(), batch.n_rows(), kIn);
    ops_->begin(batch, {});
    ops_->add_low_rank(sum.view(), input.view(), batch, product, {inner_.view(), outer_.view()});
    return sum.numbers();
  }

 private:
  Weight pack(const Numbers& matrix, int64_t n_in) {
    std::vector<const std::byte*> rows;
    for (size_t at = 0; at < matrix.size(); at += static_cast<size_t>(n_in)) {
      rows.push_back(reinterpret_cast<const std::byte*>(&matrix[at]));
    }
    return std::move(*pack_weight(pages_.device(), pool_, DType::f32, n_in, rows));
  }

  WorkerPool pool_;
  KvPages pages_;
  std::unique_ptr<CpuOps> ops_;
  TestView inner_, outer_;
};

void add_sequence(BatchBuilder& batch, int64_t n_rows, AdapterMix adapters) {
  batch.begin_sequence(0, {});
  batch.set_adapters(adapters);
  batch.add(std::vector<int32_t>(static_cast<size_t>(n_rows)));
}

Numbers rows_of(const Numbers& all, int64_t first, int64_t n, int64_t n_cols) {
  return {all.begin() + first * n_cols, all.begin() + (first + n) * n_cols};
}

// Each number is a chain of n_in roundings, one for the scale, a chain of `rank` and one for the
// sum, so its error is at most g · (|out| + |scale| Σ|b| Σ|a||x|), g = k·u / (1 - k·u) with
// k = n_in + rank + 2 roundings of u = 2^-24.
TEST(LowRank, IsWithinTheRoundingErrorsOfItsProducts) {
  constexpr int64_t kRows = 9;
  const Numbers x = random_numbers(kRows * kIn, 1), out = random_numbers(kRows * kOut, 2);
  for (const Kernels* kernels : all_kernels()) {
    LowRankWorld world(*kernels);
    for (const int64_t rank : {int64_t{1}, int64_t{8}, kMaxRank}) {
      const HostLowRank host(rank, -1.7F, 10);
      const Adapter adapter = world.adapter(host);
      EXPECT_EQ(adapter.max_rank(), rank);
      const AdapterShare share{&adapter};
      BatchBuilder batch;
      add_sequence(batch, kRows, {&share, 1});
      const Numbers sum = world.add(batch.batch(), out, x);
      const double roundings = static_cast<double>(kIn + rank + 2) * 0x1p-24;
      for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t c = 0; c < kOut; ++c) {
          const auto at = static_cast<size_t>(r * kOut + c);
          double expected = out[at], size = std::fabs(out[at]);
          for (int64_t j = 0; j < rank; ++j) {
            for (int64_t i = 0; i < kIn; ++i) {
              const double term = double{host.scale} * host.b[static_cast<size_t>(c * rank + j)] *
                                  host.a[static_cast<size_t>(j * kIn + i)] *
                                  x[static_cast<size_t>(r * kIn + i)];
              expected += term;
              size += std::fabs(term);
            }
          }
          ASSERT_NEAR(sum[at], expected, roundings / (1 - roundings) * size) << kernels->isa;
        }
      }
    }
  }
}

// Alone, among others, with any number of threads and rows at a time, on any table.
TEST(LowRank, RowsHaveTheSameBytesInEveryBatch) {
  const HostLowRank host_a(8, 0.5F, 20), host_b(3, 2.0F, 30);
  const int64_t n_rows[] = {3, 200, 1, 7, 2};  // of a, b, none, b and a, b and a
  constexpr int64_t kRows = 213;
  const Numbers x = random_numbers(kRows * kIn, 3), out = random_numbers(kRows * kOut, 4);
  Numbers first;
  for (const Kernels* kernels : all_kernels()) {
    for (const int n_threads : {1, 3}) {
      LowRankWorld world(*kernels, n_threads, n_threads == 1 ? 3 : 256);
      const Adapter a = world.adapter(host_a), b = world.adapter(host_b);
      const AdapterShare shares[] = {{&a}, {&b}, {&b, -0.5F}, {&a, 2.0F}, {&b, -0.5F}, {&a, 2.0F}};
      const AdapterMix all(shares);
      const AdapterMix adapters[] = {
          all.first(1), all.subspan(1, 1), {}, all.subspan(2, 2), all.last(2)};
      BatchBuilder mixed;
      for (size_t i = 0; i < std::size(n_rows); ++i) add_sequence(mixed, n_rows[i], adapters[i]);
      EXPECT_TRUE(mixed.batch().has_adapters);
      const Numbers sum = world.add(mixed.batch(), out, x);
      if (first.empty()) first = sum;
      EXPECT_EQ(sum, first) << kernels->isa;
      int64_t row = 0;
      for (size_t i = 0; i < std::size(n_rows); ++i) {
        BatchBuilder alone;
        add_sequence(alone, n_rows[i], adapters[i]);
        const Numbers own = rows_of(out, row, n_rows[i], kOut);
        const Numbers expected = world.add(alone.batch(), own, rows_of(x, row, n_rows[i], kIn));
        EXPECT_EQ(rows_of(sum, row, n_rows[i], kOut), expected) << "sequence " << i;
        EXPECT_EQ(expected == own, adapters[i].empty()) << "sequence " << i;
        row += n_rows[i];
      }
    }
  }
}

TEST(LowRank, AMixAddsItsAdaptersOneAfterAnother) {
  LowRankWorld world(kernels());
  const HostLowRank host(2, 1.0F, 50), half(2, 0.5F, 50);
  const Adapter a = world.adapter(host), b = world.adapter(HostLowRank(4, 3.0F, 60));
  const Adapter halved = world.adapter(half);
  const Numbers x = random_numbers(5 * kIn, 5);
  const auto add = [&](const Numbers& out, std::vector<AdapterShare> mix) {
    BatchBuilder batch;
    add_sequence(batch, 5, mix);
    return world.add(batch.batch(), out, x);
  };
  const Numbers out = random_numbers(5 * kOut, 6);
  EXPECT_EQ(add(out, {{&a, 0.5F}, {&b, 2.0F}}), add(add(out, {{&a, 0.5F}}), {{&b, 2.0F}}));
  EXPECT_EQ(add(out, {{&a, 0.5F}}), add(out, {{&halved}})) << "scales are multiplied";
}

// Of the whole sum so far, so that what adapters before it added is multiplied as well. Steps of
// few rows and of many are computed differently.
TEST(LowRank, FactorsAreOfTheSumInEachColumn) {
  const Numbers factors = random_numbers(kOut, 70), shifts = random_numbers(kOut, 71);
  for (const Kernels* kernels : all_kernels()) {
    LowRankWorld world(*kernels, 3);
    const Adapter plain = world.adapter(HostLowRank(4, 3.0F, 60));
    const Adapter before = world.adapter(HostLowRank(2, 1.0F, 50));
    Adapter adapter = world.adapter(HostLowRank(4, 3.0F, 60));
    for (const bool has_shifts : {false, true}) {
      adapter.products[1].factors = world.vector(factors);
      if (has_shifts) adapter.products[1].shifts = world.vector(shifts);
      for (const int64_t n_rows : {int64_t{3}, int64_t{150}}) {
        const Numbers x = random_numbers(n_rows * kIn, 5), out = random_numbers(n_rows * kOut, 6);
        const auto add = [&](std::vector<AdapterShare> mix) {
          BatchBuilder batch;
          add_sequence(batch, n_rows, mix);
          return world.add(batch.batch(), out, x);
        };
        Numbers expected = add({{&before}, {&plain}});
        for (size_t i = 0; i < expected.size(); ++i) {
          expected[i] *= factors[i % kOut];
          if (has_shifts) expected[i] += shifts[i % kOut];
        }
        EXPECT_EQ(add({{&before}, {&adapter}}), expected) << kernels->isa << " " << n_rows;
      }
    }
  }
}

TEST(LowRank, AProductThatAnAdapterLeavesAloneStaysAsItIs) {
  LowRankWorld world(kernels());
  const Adapter adapter = world.adapter(HostLowRank(2, 1.0F, 40));
  const AdapterShare share{&adapter};
  BatchBuilder batch;
  add_sequence(batch, 5, {&share, 1});
  const Numbers x = random_numbers(5 * kIn, 5), out = random_numbers(5 * kOut, 6);
  EXPECT_EQ(world.add(batch.batch(), out, x, 0), out);
  EXPECT_NE(world.add(batch.batch(), out, x, 1), out);
}

}  // namespace
}  // namespace ruv
