// Pages are never lost, given twice or taken by halves.
#include "cache/page_list.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/rng.h"

namespace ruv {
namespace {

TEST(PagePool, ReserveIsAllOrNothing) {
  PagePool pool(4);
  std::vector<PageId> pages;
  EXPECT_TRUE(pool.reserve(3, pages));
  EXPECT_FALSE(pool.reserve(2, pages));
  EXPECT_EQ(pages.size(), 3U);
  EXPECT_EQ(pool.n_free(), 1);
}

TEST(PagePool, SharedPageIsFreeAfterItsLastHolder) {
  PagePool pool(1);
  std::vector<PageId> pages;
  ASSERT_TRUE(pool.reserve(1, pages));
  pool.share(pages[0]);
  pool.release(pages[0]);
  EXPECT_EQ(pool.n_free(), 0);
  pool.release(pages[0]);
  EXPECT_EQ(pool.n_free(), 1);
  EXPECT_TRUE(pool.consistent());
}

TEST(PagePool, PageOfTheTreeAloneIsEvictable) {
  PagePool pool(2);
  std::vector<PageId> pages;
  ASSERT_TRUE(pool.reserve(2, pages));
  pool.cache(pages[0]);
  EXPECT_TRUE(pool.cached(pages[0]));
  EXPECT_EQ(pool.n_cached(), 1);
  EXPECT_EQ(pool.n_evictable(), 0) << "its sequence holds it";
  EXPECT_EQ(pool.n_held(), 2);
  pool.release(pages[0]);
  EXPECT_EQ(pool.n_evictable(), 1);
  EXPECT_EQ(pool.n_held(), 1);
  pool.share(pages[0]);
  EXPECT_EQ(pool.n_evictable(), 0);
  pool.uncache(pages[0]);
  EXPECT_EQ(pool.n_free(), 0) << "the sequence still holds it";
  pool.release(pages[0]);
  EXPECT_EQ(pool.n_free(), 1);
  EXPECT_EQ(pool.n_held_max(), 2);
  EXPECT_TRUE(pool.consistent());
}

TEST(PagePool, APageThatIsTakenFromTheTreeCountsAsHeld) {
  PagePool pool(3);
  std::vector<PageId> pages;
  ASSERT_TRUE(pool.reserve(1, pages));
  pool.cache(pages[0]);
  pool.release(pages[0]);
  ASSERT_TRUE(pool.reserve(1, pages));
  EXPECT_EQ(pool.n_held_max(), 1);
  pool.share(pages[0]);
  EXPECT_EQ(pool.n_held(), 2);
  EXPECT_EQ(pool.n_held_max(), 2);
}

TEST(PagePool, RandomUseKeepsTheBooks) {
  PagePool pool(50);
  std::vector<PageId> held;
  Rng rng(7);
  for (int i = 0; i < 20000; ++i) {
    if (rng.below(2) == 0) {
      pool.reserve(static_cast<int64_t>(rng.below(5)), held);
    } else if (!held.empty()) {
      const size_t at = rng.below(held.size());
      if (rng.below(4) == 0) {
        pool.share(held[at]);
        held.push_back(held[at]);
      } else {
        pool.release(held[at]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    if (i % 100 == 0) {
      ASSERT_TRUE(pool.consistent()) << "step " << i;
    }
  }
  for (PageId page : held) pool.release(page);
  EXPECT_EQ(pool.n_free(), 50);
}

TEST(PageList, GrowsByWholePagesClearsThemAndReturnsThem) {
  const CacheLayout layout = CacheLayout::uniform(2, {.n_heads = 1, .key_dim = 8, .value_dim = 8});
  Result<KvPages> memory = KvPages::create(layout, 3);
  ASSERT_TRUE(memory.has_value());
  const uint16_t infinity = 0x7C00;  // left by a former owner
  const KvView& view = memory->settled(1);
  Device& device = memory->device();
  device.upload(view.region->values(0, view.layer, 0), std::as_bytes(std::span(&infinity, 1)));
  PagePool pool(3);
  {
    PageList list(pool);
    EXPECT_TRUE(list.grow(kPageTokens + 1, *memory));
    EXPECT_EQ(list.pages().size(), 2U);
    std::byte second{1};
    device.download(view.region->values(list.pages()[0], view.layer, 0) + 1, {&second, 1});
    EXPECT_EQ(second, std::byte{0});
    EXPECT_TRUE(list.grow(2 * kPageTokens, *memory));
    EXPECT_EQ(list.pages().size(), 2U);
    EXPECT_FALSE(list.grow(4 * kPageTokens, *memory));
    EXPECT_EQ(pool.n_free(), 1);
  }
  EXPECT_EQ(pool.n_free(), 3);
}

}  // namespace
}  // namespace ruv
