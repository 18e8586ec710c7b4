// Operations on the heads of rows against their meaning, on every instruction set.
#include <gtest/gtest.h>

#include <cmath>

#include "device/batch_builder.h"
#include "device/cpu/cpu_ops.h"
#include "device/test_numbers.h"
#include "device/test_view.h"
#include "tensor/half.h"

namespace ruv {
namespace {

// Operations on a device without pages of interest.
struct HeadWorld {
  HeadWorld(const Kernels& kernels, int64_t max_rows, int64_t max_k, int n_threads = 1)
      : pool(n_threads),
        pages(std::move(
            *KvPages::create(CacheLayout::uniform(1, {1, 4, 4}), 1, {}, new_device(kernels)))),
        ops(std::move(*CpuOps::create(kernels, pool, pages, {max_rows, max_k, 4, 1}))) {}

  WorkerPool pool;
  KvPages pages;
  std::unique_ptr<CpuOps> ops;
};

// Rows of `numbers` in this type.
std::vector<std::byte> encoded(const Numbers& numbers, DType dtype) {
  const Format& format = format_of(dtype);
  const auto n = std::ssize(numbers);
  std::vector<std::byte> bytes(static_cast<size_t>(format.bytes_of(n)));
  format.encode(numbers.data(), nullptr, bytes.data(), n);
  return bytes;
}

struct HeadShape {
  DType dtype;
  int64_t n_heads, n_out, n_in, n_rows;
};

// Each head's product is that of matmul with its part of the rows alone, to the last bit.
void expect_products(const Kernels& kernels, const HeadShape& s, int n_threads) {
  HeadWorld world(kernels, s.n_rows, s.n_heads * s.n_in, n_threads);
  Device& device = world.pages.device();
  const Numbers x = random_numbers(s.n_rows * s.n_heads * s.n_in, 1);
  const int64_t row_bytes = format_of(s.dtype).bytes_of(s.n_in);
  std::vector<Weight> heads;
  for (int64_t h = 0; h < s.n_heads; ++h) {
    const auto bytes =
        encoded(random_numbers(s.n_out * s.n_in, 7 + static_cast<uint64_t>(h)), s.dtype);
    std::vector<const std::byte*> rows;
    for (int64_t r = 0; r < s.n_out; ++r) rows.push_back(bytes.data() + r * row_bytes);
    heads.push_back(std::move(*pack_weight(device, world.pool, s.dtype, s.n_in, rows)));
  }
  const TestView in(device, x.data(), s.n_rows, s.n_heads * s.n_in);
  const TestView out(device, nullptr, s.n_rows, s.n_heads * s.n_out);
  world.ops->matmul_heads(out.view(), in.view(), heads);
  const Numbers all = out.numbers();
  for (int64_t h = 0; h < s.n_heads; ++h) {
    Numbers part;
    for (int64_t r = 0; r < s.n_rows; ++r) {
      const auto at = x.begin() + (r * s.n_heads + h) * s.n_in;
      part.insert(part.end(), at, at + s.n_in);
    }
    const TestView own(device, part.data(), s.n_rows, s.n_in);
    const TestView alone(device, nullptr, s.n_rows, s.n_out);
    world.ops->matmul(alone.view(), own.view(), heads[static_cast<size_t>(h)], Vector());
    const Numbers expected = alone.numbers();
    for (int64_t i = 0; i < std::ssize(expected); ++i) {
      const int64_t row = i / s.n_out;
      ASSERT_EQ(all[static_cast<size_t>((row * s.n_heads + h) * s.n_out + i % s.n_out)],
                expected[static_cast<size_t>(i)])
          << kernels.isa << ", " << format_of(s.dtype).name << ", head " << h << ", number " << i;
    }
  }
}

TEST(CpuHeads, EachHeadIsMultipliedByItsOwnMatrix) {
  const HeadShape shapes[] = {{DType::f32, 3, 7, 5, 4},    {DType::f16, 2, 40, 12, 9},
                              {DType::bf16, 3, 17, 33, 9}, {DType::q8_0, 4, 24, 64, 21},
                              {DType::q4_0, 1, 8, 32, 1},  {DType::q4_k, 2, 9, 256, 6}};
  for (const Kernels* kernels : all_kernels()) {
    for (const HeadShape& shape : shapes) expect_products(*kernels, shape, 1);
    expect_products(*kernels, {DType::q8_0, 8, 64, 64, 40}, 3);
  }
}

TEST(CpuHeads, JoinedRowsFollowEachOther) {
  HeadWorld world(kernels(), 2, 4);
  Device& device = world.pages.device();
  const Numbers a = {1, 2, 3, 4};
  const Numbers b = {5, 6};
  const TestView left(device, a.data(), 2, 2);
  const TestView right(device, b.data(), 2, 1);
  const TestView out(device, nullptr, 2, 3);
  world.ops->join(out.view(), left.view(), right.view());
  EXPECT_EQ(out.numbers(), (Numbers{1, 2, 5, 3, 4, 6}));
}

// The factors are those of the formula in double precision, rounded once; spans begin where they
// should.
TEST(CpuHeads, QueriesGrowWithTheirPosition) {
  HeadWorld world(kernels(), 4, 4);
  Device& device = world.pages.device();
  BatchBuilder batch;
  batch.begin_sequence(6, {});
  for (int i = 0; i < 4; ++i) batch.add(0);
  world.ops->begin(batch.batch(), {});
  const auto grown = [&](const PositionScale& scale) {
    const Numbers ones(4, 1.0F);
    const TestView x(device, ones.data(), 4, 1);
    world.ops->scale_by_position(x.view(), scale);
    return x.numbers();
  };
  const auto factor = [](double slope, double spans) {
    return static_cast<float>(1 + slope * std::log(1 + spans));
  };
  const double slope = double{0.3F};
  EXPECT_EQ(grown({0.3F, 4, 0}),
            (Numbers{factor(slope, 1), factor(slope, 1), factor(slope, 2), factor(slope, 2)}));
  EXPECT_EQ(grown({0.3F, 4, 1}),
            (Numbers{factor(slope, 1), factor(slope, 2), factor(slope, 2), factor(slope, 2)}));
  EXPECT_EQ(grown({0.3F, 100, 1}), Numbers(4, 1.0F));
}

}  // namespace
}  // namespace ruv
