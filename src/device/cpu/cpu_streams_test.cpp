// Rows that are added by factors, cut or made as large as others, against their meaning on every
// instruction set, with the same bytes from all.
#include <gtest/gtest.h>

#include <cmath>

#include "device/cpu/cpu_ops.h"
#include "device/test_numbers.h"
#include "device/test_view.h"

namespace ruv {
namespace {

struct StreamWorld {
  explicit StreamWorld(const Kernels& kernels)
      : pool(2),
        pages(std::move(
            *KvPages::create(CacheLayout::uniform(1, {1, 4, 4}), 1, {}, new_device(kernels)))),
        ops(std::move(*CpuOps::create(kernels, pool, pages, {8, 256, 4, 1}))) {}

  WorkerPool pool;
  KvPages pages;
  std::unique_ptr<CpuOps> ops;
};

double mean_of(const float* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += double{x[i]};
  return sum / static_cast<double>(n);
}
double mean_square_of(const float* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += double{x[i]} * double{x[i]};
  return sum / static_cast<double>(n);
}

constexpr int64_t kRows = 3;

// What `compute` makes of x, the same bytes on every instruction set.
template <class Compute>
Numbers result_of(const Numbers& x, Compute compute) {
  Numbers first;
  for (const Kernels* const kernels : all_kernels()) {
    StreamWorld world(*kernels);
    const TestView view(world.pages.device(), x.data(), kRows, std::ssize(x) / kRows);
    compute(world, view.view());
    const Numbers result = view.numbers();
    if (first.empty()) first = result;
    EXPECT_EQ(result, first) << kernels->isa;
  }
  return first;
}

TEST(CpuStreams, AddsByAColumnOfFactors) {
  for (const int64_t n : {1, 7, 64, 203}) {
    const Numbers x = random_numbers(kRows * n, 1), y = random_numbers(kRows * n, 2);
    const Numbers factors = random_numbers(kRows * 5, 3);
    const Numbers result = result_of(x, [&](StreamWorld& world, View view) {
      const TestView other(world.pages.device(), y.data(), kRows, n);
      const TestView values(world.pages.device(), factors.data(), kRows, 5);
      world.ops->add_scaled(view, other.view(), {values.view(), 3, 1});
    });
    for (int64_t i = 0; i < kRows * n; ++i) {
      const auto at = static_cast<size_t>(i);
      const double factor = double{factors[static_cast<size_t>(i / n * 5 + 3)]} + 1;
      EXPECT_NEAR(double{result[at]}, double{x[at]} + factor * double{y[at]}, 1e-5);
    }
  }
}

TEST(CpuStreams, CutsBelowDeviationsFromTheMean) {
  for (const int64_t n : {1, 7, 64, 203}) {
    const Numbers x = random_numbers(kRows * n, 4);
    for (const float deviations : {-0.7F, 0.0F, 1.6F}) {
      const Numbers result = result_of(
          x, [&](StreamWorld& world, View view) { world.ops->cut_below(view, deviations); });
      for (int64_t r = 0; r < kRows; ++r) {
        const float* const row = x.data() + r * n;
        const double mean = mean_of(row, n);
        const double variance = mean_square_of(row, n) - mean * mean;
        const double least = mean + std::sqrt(std::max(variance, 0.0)) * double{deviations};
        for (int64_t c = 0; c < n; ++c) {
          EXPECT_NEAR(double{result[static_cast<size_t>(r * n + c)]},
                      std::max(double{row[c]} - least, 0.0), 1e-5);
        }
      }
    }
  }
}

TEST(CpuStreams, RowsBecomeAsLargeAsOthers) {
  for (const int64_t n : {1, 7, 64, 203}) {
    Numbers x = random_numbers(kRows * n, 5);
    std::fill_n(x.begin(), n, 1e-4F);  // below the least
    const Numbers like = random_numbers(kRows * n, 6);
    const Numbers result = result_of(x, [&](StreamWorld& world, View view) {
      const TestView other(world.pages.device(), like.data(), kRows, n);
      world.ops->match_size(view, other.view(), 1e-5F);
    });
    for (int64_t r = 0; r < kRows; ++r) {
      const double own = std::max(mean_square_of(x.data() + r * n, n), 1e-5);
      const double factor = std::sqrt(mean_square_of(like.data() + r * n, n) / own);
      for (int64_t c = 0; c < n; ++c) {
        const auto at = static_cast<size_t>(r * n + c);
        EXPECT_NEAR(double{result[at]}, double{x[at]} * factor, 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace ruv
