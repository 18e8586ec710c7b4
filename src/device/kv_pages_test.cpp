#include "device/kv_pages.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/rng.h"

namespace ruv {
namespace {

std::vector<std::byte> random_page(int64_t n_bytes, uint64_t seed) {
  Rng rng(seed);
  std::vector<std::byte> bytes(static_cast<size_t>(n_bytes));
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng.next());
  return bytes;
}

// Pages of one run lie interleaved: what one gets must not show in its neighbours.
TEST(KvPages, APageIsSavedLoadedCopiedAndClearedAlone) {
  for (const KvType type : kKvTypes) {
    const KvShape shape{.n_layers = 3, .n_kv_heads = 2, .head_dim = 12, .type = type};
    const int64_t n_pages = KvPages::kRunPages + 3;
    Result<KvPages> pages = KvPages::create(shape, n_pages);
    ASSERT_TRUE(pages.has_value());
    std::vector<std::vector<std::byte>> wanted;
    for (PageId page = 0; page < n_pages; ++page) {
      wanted.push_back(random_page(shape.page_bytes(), static_cast<uint64_t>(page)));
      pages->load(page, wanted.back());
    }
    pages->copy(1, KvPages::kRunPages + 1);
    wanted[KvPages::kRunPages + 1] = wanted[1];
    pages->clear(2);
    wanted[2].assign(wanted[2].size(), std::byte{0});
    std::vector<std::byte> got(static_cast<size_t>(shape.page_bytes()));
    for (PageId page = 0; page < n_pages; ++page) {
      pages->save(page, got);
      EXPECT_EQ(got, wanted[static_cast<size_t>(page)]) << "page " << page;
    }
  }
}

// What docs/kv-precision.md promises, scales included.
TEST(KvPages, BytesPerTokenBesideF16) {
  for (const int64_t head_dim : {64, 128}) {
    const auto bytes = [head_dim](KvType type) {
      return static_cast<double>(KvShape{2, 4, head_dim, type}.bytes_per_token());
    };
    const double f16 = bytes(KvType::f16);
    EXPECT_LE(bytes(KvType::int8), 0.53 * f16);
    EXPECT_LE(bytes(KvType::int4), 0.29 * f16);
    EXPECT_LE(bytes(KvType::int2), 0.16 * f16);
  }
}

// Few tails are what makes a tiered type smaller.
TEST(KvPages, MemoryIsThatOfTheStoreAndOfTheTailsThereAre) {
  const auto bytes = [](KvType type, int64_t n_pages, int64_t n_tails) {
    return static_cast<double>(KvPages::create({2, 4, 64, type}, n_pages, n_tails)->n_bytes());
  };
  const double f16 = bytes(KvType::f16, 1024, 0);
  EXPECT_NEAR(bytes(KvType::int4, 1024, 128) / f16, 0.281 + 0.125, 0.001);
  EXPECT_NEAR(bytes(KvType::int2, 1024, 128) / f16, 0.156 + 0.125, 0.001);
  EXPECT_NEAR(bytes(KvType::int4, 1024, 0) / f16, 0.281 + 1, 0.001);
  EXPECT_EQ(bytes(KvType::int8, 1024, 128), bytes(KvType::int8, 1024, 0));
}

TEST(KvPages, ATailIsWhereTheTableSaysAndNoPageSharesIt) {
  const KvShape shape{.n_layers = 1, .n_kv_heads = 1, .head_dim = 16, .type = KvType::int4};
  Result<KvPages> pages = KvPages::create(shape, 40, 2);
  ASSERT_TRUE(pages.has_value());
  for (PageId page = 0; page < 40; ++page) EXPECT_EQ(pages->tail_of(page), -1);
  pages->set_tail(30, 1);
  pages->clear(30);
  const std::vector<float> x(16, 0.5F);
  pages->store(kernels(), {30, 3, 0, 0}, x.data(), x.data());
  const auto value = [&](PageId tail) {
    uint16_t half = 0;
    std::memcpy(&half, pages->tail().values(tail, 0, 0) + 3 * 16 * 2, 2);
    return half;
  };
  EXPECT_EQ(value(1), 0x3800);  // 0.5
  pages->copy(30, 7);           // a page without a tail gets the store's form
  pages->set_tail(8, 0);
  pages->clear(8);
  EXPECT_EQ(value(0), 0);
  pages->copy(30, 8);
  EXPECT_EQ(value(0), 0x3800);
  pages->copy(7, 8);
  EXPECT_EQ(value(0), 0x3800) << "nothing to copy";
  pages->clear(30);
  EXPECT_EQ(value(1), 0);
  EXPECT_EQ(value(0), 0x3800);
}

TEST(KvPages, ACopyTakesTheTailAlong) {
  const KvShape shape{.n_layers = 1, .n_kv_heads = 1, .head_dim = 16, .type = KvType::int4};
  Result<KvPages> pages = KvPages::create(shape, 3);
  ASSERT_TRUE(pages.has_value());
  std::vector<float> x(16, 0.5F);
  pages->clear(0);
  pages->store(kernels(), {0, 3, 0, 0}, x.data(), x.data());
  pages->copy(0, 2);
  KvPages& tail = pages->tail();
  std::vector<std::byte> first(static_cast<size_t>(tail.shape().page_bytes()));
  std::vector<std::byte> second(first.size());
  tail.save(0, first);
  tail.save(2, second);
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::vector<std::byte>(first.size()));
}

// Storing the tokens of a page in any order, and again over others, gives the same bytes: a draft
// that was rejected leaves nothing behind.
TEST(KvPages, ATokenWrittenOverAnotherLeavesNothingOfIt) {
  for (const KvType type : kKvTypes) {
    for (const int64_t head_dim : {6, 16, 40, 64}) {
      const KvShape shape{.n_layers = 1, .n_kv_heads = 1, .head_dim = head_dim, .type = type};
      Result<KvPages> pages = KvPages::create(shape, 2);
      ASSERT_TRUE(pages.has_value());
      Rng rng(4);
      std::vector<float> x(static_cast<size_t>(head_dim * kPageTokens * 2));
      for (float& v : x) v = static_cast<float>(rng.uniform() * 4 - 2);
      pages->clear(0);
      pages->clear(1);
      for (int64_t slot = 0; slot < kPageTokens; ++slot) {
        pages->store(kernels(), {0, slot, 0, 0}, x.data() + slot * head_dim, x.data());
        pages->store(kernels(), {1, slot, 0, 0}, x.data() + head_dim * kPageTokens, x.data() + 3);
      }
      for (int64_t slot = kPageTokens - 1; slot >= 0; --slot) {
        pages->store(kernels(), {1, slot, 0, 0}, x.data() + slot * head_dim, x.data());
      }
      std::vector<std::byte> first(static_cast<size_t>(shape.page_bytes()));
      std::vector<std::byte> second(first.size());
      pages->save(0, first);
      pages->save(1, second);
      EXPECT_EQ(first, second) << kv_type_name(type) << ", head of " << head_dim;
    }
  }
}

}  // namespace
}  // namespace ruv
