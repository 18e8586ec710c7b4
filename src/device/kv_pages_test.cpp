#include "device/kv_pages.h"

#include <gtest/gtest.h>

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
  for (const KvType type : {KvType::f16, KvType::int8}) {
    const KvShape shape{.n_layers = 3, .n_kv_heads = 2, .head_dim = 12, .type = type};
    const int64_t n_pages = KvPages::kRunPages + 3;
    const Result<KvPages> pages = KvPages::create(shape, n_pages);
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

}  // namespace
}  // namespace ruv
