#include "device/kv_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/rng.h"
#include "device/cpu/store_token.h"

namespace ruv {
namespace {

std::vector<std::byte> random_bytes(int64_t n_bytes, uint64_t seed) {
  Rng rng(seed);
  std::vector<std::byte> bytes(static_cast<size_t>(n_bytes));
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng.next());
  return bytes;
}

KvShape square(int64_t n_heads, int64_t head_dim, KvType type = KvType::f16) {
  return {n_heads, head_dim, head_dim, type};
}

// Layers of two windows and two shapes, the second with keys and values of unequal width.
CacheLayout mixed(KvType type) {
  const KvShape wide = {2, 12, 20, type};
  return {{{square(3, 8, type), 32}, {wide, 0}, {square(3, 8, type), 32}, {wide, 48}}};
}

void give_frames(const KvPages& pages, PageId page) {
  for (const auto& group : pages.assigned()) {
    group->set(page, static_cast<FrameId>(page % group->n_frames()));
  }
}

// Frames of one run lie interleaved: what one gets must not show in its neighbours.
TEST(KvPages, APageIsSavedLoadedCopiedAndClearedAlone) {
  for (const KvType type : kKvTypes) {
    for (const CacheLayout& layout : {CacheLayout::uniform(3, square(2, 12, type)), mixed(type)}) {
      const int64_t n_pages = KvRegion::kRunFrames + 3;
      Result<KvPages> pages = KvPages::create(layout, n_pages);
      ASSERT_TRUE(pages.has_value());
      ASSERT_EQ(pages->saved_bytes(), layout.page_bytes());
      std::vector<std::vector<std::byte>> wanted;
      for (PageId page = 0; page < n_pages; ++page) {
        wanted.push_back(random_bytes(pages->saved_bytes(), static_cast<uint64_t>(page)));
        EXPECT_TRUE(pages->load(page, pages->all_groups(), wanted.back()));
      }
      pages->copy(1, KvRegion::kRunFrames + 1);
      wanted[KvRegion::kRunFrames + 1] = wanted[1];
      pages->clear(2);
      wanted[2].assign(wanted[2].size(), std::byte{0});
      std::vector<std::byte> got(wanted[0].size());
      for (PageId page = 0; page < n_pages; ++page) {
        pages->save(page, pages->all_groups(), got);
        EXPECT_EQ(got, wanted[static_cast<size_t>(page)]) << "page " << page;
      }
    }
  }
}

// What docs/kv-precision.md promises, scales included.
TEST(KvPages, BytesPerTokenBesideF16) {
  for (const int64_t head_dim : {64, 128}) {
    const auto bytes = [head_dim](KvType type) {
      return static_cast<double>(
          CacheLayout::uniform(2, square(4, head_dim, type)).bytes_per_token());
    };
    const double f16 = bytes(KvType::f16);
    EXPECT_LE(bytes(KvType::int8), 0.53 * f16);
    EXPECT_LE(bytes(KvType::int4), 0.29 * f16);
    EXPECT_LE(bytes(KvType::int2), 0.16 * f16);
  }
}

// Few tails are what makes a tiered type smaller.
TEST(KvPages, MemoryIsThatOfTheStoreAndOfTheTailsThereAre) {
  const FrameLimits few = {.n_lists = 1, .n_rows = 16, .n_kept = 128 - 17 - 2};
  const auto bytes = [](KvType type, const std::optional<FrameLimits>& limits) {
    const CacheLayout layout = CacheLayout::uniform(2, square(4, 64, type));
    const Result<KvPages> pages = KvPages::create(layout, 1024, limits);
    EXPECT_EQ(pages->n_bytes(), KvPages::bytes_for(layout, 1024, limits));
    return static_cast<double>(pages->n_bytes());
  };
  const double f16 = bytes(KvType::f16, {});
  EXPECT_NEAR(bytes(KvType::int4, few) / f16, 0.281 + 0.125, 0.001);
  EXPECT_NEAR(bytes(KvType::int2, few) / f16, 0.156 + 0.125, 0.001);
  EXPECT_NEAR(bytes(KvType::int4, {}) / f16, 0.281 + 1, 0.001);
  EXPECT_EQ(bytes(KvType::int8, few), bytes(KvType::int8, {}));
}

// A layer with a state has neither keys nor a type for them, and its bytes do not grow with the
// text.
TEST(KvPages, ARunningStateHasNoTypeAndIsThereOnce) {
  const KvShape shape = square(2, 8, KvType::f16);
  const CacheLayout f16 = {
      {{KvShape{.state_bytes = 4096}}, {shape}, {KvShape{.state_bytes = 512}}}};
  EXPECT_EQ(f16.state_bytes(), 4608);
  EXPECT_EQ(f16.page_bytes(), shape.page_bytes());
  EXPECT_EQ(f16.held_bytes(5 * kPageTokens), 5 * shape.page_bytes() + 4608);
  const CacheLayout int4 = f16.with_type(KvType::int4);
  EXPECT_EQ(int4.type(), KvType::int4);
  const FrameLimits limits = {.n_lists = 1, .n_rows = 16};
  const Result<KvPages> pages = KvPages::create(int4, 8, limits);
  ASSERT_TRUE(pages.has_value());
  EXPECT_EQ(pages->newest(0).region, pages->settled(0).region);
  EXPECT_EQ(pages->newest(2).region, pages->settled(2).region);
  EXPECT_EQ(pages->saved().back()->region().shape(1).state_bytes, 512);
  EXPECT_NE(pages->newest(1).region, pages->settled(1).region);
}

// An index's keys have no values, and f16 whatever the type of the others is.
TEST(KvPages, KeysOfAnIndexStayHalves) {
  const KvShape shape = square(2, 8, KvType::f16);
  const KvShape index = {1, 5, 0};
  EXPECT_EQ(index.page_bytes(), 5 * 2 * kPageTokens);
  const CacheLayout int4 = CacheLayout{{{shape}, {index}}}.with_type(KvType::int4);
  EXPECT_EQ(int4.layers[0].shape.type, KvType::int4);
  EXPECT_EQ(int4.layers[1].shape, index);
  const Result<KvPages> pages = KvPages::create(int4, 8);
  ASSERT_TRUE(pages.has_value());
  EXPECT_NE(pages->newest(0).region, pages->settled(0).region);
  EXPECT_EQ(pages->newest(1).region, pages->settled(1).region);
  EXPECT_EQ(pages->saved_bytes(), int4.page_bytes());
}

// A layer that attends and keeps a state is in two groups, with an index of its own in each.
TEST(KvPages, ALayerMayKeepTokensAndAState) {
  KvShape both = square(2, 8, KvType::f16);
  both.state_bytes = 96;
  CacheLayout layout = {{{both, 32}, {KvShape{.state_bytes = 64}}, {square(3, 8)}, {both, 0}, {}}};
  EXPECT_EQ(layout.state_bytes(), 96 + 64 + 96);
  EXPECT_EQ(layout.page_bytes(), 2 * both.page_bytes() + square(3, 8).page_bytes());
  layout = layout.with_type(KvType::int4);
  const FrameLimits limits = {.n_lists = 2, .n_rows = 16, .n_checkpoints = 3};
  const Result<KvPages> pages = KvPages::create(layout, 4000, limits);
  ASSERT_TRUE(pages.has_value());
  ASSERT_EQ(pages->saved().size(), 2U);
  const KvRegion& window = pages->saved()[0]->region();
  const KvRegion& states = pages->saved()[1]->region();
  EXPECT_EQ(states.n_layers(), 3);
  EXPECT_EQ(states.frame_bytes(), layout.state_bytes());
  EXPECT_EQ(states.n_bytes(), states.n_frames() * layout.state_bytes()) << "no frame is padding";
  EXPECT_EQ(pages->settled(0).region, &window);
  EXPECT_EQ(window.frame_bytes(), layout.layers[0].shape.page_bytes());
  EXPECT_EQ(pages->settled(1).region, nullptr);
  EXPECT_EQ(pages->settled(3).layer, 1);
  EXPECT_EQ(pages->settled(4).region, nullptr);
  EXPECT_EQ(pages->newest(0).type(), KvType::f16);
  EXPECT_EQ(pages->state(2, 0), states.state(2, 0));
  EXPECT_EQ(pages->state(2, 1), states.state(2, 1));
  EXPECT_EQ(pages->state(2, 3), states.state(2, 2));
}

// What the budget is decided by is what is allocated, states once.
TEST(KvPages, MemoryCountsEachStateOnce) {
  KvShape both = square(2, 8);
  both.state_bytes = 1 << 20;
  const CacheLayout layout = {{{both, 0}, {KvShape{.state_bytes = 512}}}};
  const FrameLimits limits = {.n_lists = 3, .n_rows = 16, .n_drafts = 2, .n_checkpoints = 4};
  const Result<KvPages> pages = KvPages::create(layout, 64, limits);
  ASSERT_TRUE(pages.has_value());
  const int64_t n_frames = KvReach::of_state(1).enough_for(limits) + 4;
  EXPECT_EQ(pages->n_bytes(), 64 * both.page_bytes() + n_frames * ((1 << 20) + 512));
  EXPECT_EQ(pages->n_bytes(), KvPages::bytes_for(layout, 64, limits));
  EXPECT_EQ(pages->held_bytes(40), 3 * both.page_bytes() + (1 << 20) + 512);
  EXPECT_EQ(layout.held_bytes(40), pages->held_bytes(40));
}

// As a model without attention.
TEST(KvPages, AllLayersMayKeepStatesOnly) {
  const CacheLayout layout = {{{{.state_bytes = 4096}}, {{.state_bytes = 4096}}}};
  EXPECT_EQ(layout.checkpoint_pages(), kMostCheckpointPages);
  const FrameLimits limits = {.n_lists = 1, .n_rows = 16, .n_checkpoints = 1};
  const Result<KvPages> pages = KvPages::create(layout, 8, limits);
  ASSERT_TRUE(pages.has_value());
  KvFrames& states = *pages->assigned().back();
  states.set(3, 1);
  const std::vector<std::byte> wanted = random_bytes(8192, 4);
  ASSERT_EQ(pages->saved_state_bytes(), 8192);
  pages->load_state(3, wanted);
  std::vector<std::byte> page(static_cast<size_t>(pages->saved_bytes())), got(8192);
  pages->save(3, pages->all_groups(), page);
  EXPECT_TRUE(pages->load(3, pages->all_groups(), page));
  states.set(3, 2);
  pages->load_state(3, wanted);
  states.set(3, 1);
  states.set(5, 2);
  pages->save_state(5, got);
  EXPECT_EQ(got, wanted);
  pages->clear(5);
  pages->save_state(5, got);
  EXPECT_EQ(got, std::vector<std::byte>(8192));
  pages->save_state(3, got);
  EXPECT_EQ(got, wanted);
}

// The distance at which checkpoints take as much as the tokens between them.
TEST(KvPages, CheckpointsAreAsFarApartAsTheirSizeDemands) {
  const auto pages_apart = [](int64_t state_bytes) {
    KvShape shape = square(2, 8);
    shape.state_bytes = state_bytes;
    return CacheLayout{{{shape}}}.checkpoint_pages();
  };
  const int64_t page = square(2, 8).page_bytes();
  EXPECT_EQ(pages_apart(1), 1);
  EXPECT_EQ(pages_apart(page), 1);
  EXPECT_EQ(pages_apart(page + 1), 2);
  EXPECT_EQ(pages_apart(7 * page), 7);
  EXPECT_EQ(pages_apart(int64_t{1} << 40), kMostCheckpointPages);
}

TEST(KvPages, LayersOfOneWindowShareItsFrames) {
  const FrameLimits limits = {.n_lists = 1, .n_rows = 16};
  Result<KvPages> pages = KvPages::create(mixed(KvType::int8), 4000, limits);
  ASSERT_TRUE(pages.has_value());
  ASSERT_EQ(pages->saved().size(), 2U);
  EXPECT_EQ(pages->tails(), nullptr);
  const KvFrames& narrow = *pages->saved()[0];
  EXPECT_EQ(narrow.reach().window, 32);
  EXPECT_EQ(narrow.n_frames(), KvReach::of_window(32).enough_for(limits));
  EXPECT_EQ(narrow.region().n_layers(), 2);
  EXPECT_EQ(pages->settled(0).region, &narrow.region());
  EXPECT_EQ(pages->settled(2).region, &narrow.region());
  EXPECT_EQ(pages->settled(2).layer, 1);
  EXPECT_EQ(pages->settled(1).frames, nullptr);
  EXPECT_EQ(pages->settled(3).region, &pages->saved()[1]->region());
  EXPECT_EQ(pages->settled(3).shape().value_dim, 20);
}

TEST(KvPages, AWindowOfAllPagesIsNone) {
  const FrameLimits limits = {.n_lists = 4, .n_rows = 100};
  const CacheLayout layout = mixed(KvType::f16);
  Result<KvPages> pages = KvPages::create(layout, 20, limits);
  ASSERT_TRUE(pages.has_value());
  EXPECT_TRUE(pages->assigned().empty());
  EXPECT_EQ(pages->settled(0).region, pages->settled(1).region);
  EXPECT_EQ(layout.for_context(40).layers[0].window, 32);
  EXPECT_EQ(layout.for_context(32).layers[0].window, 0);
}

TEST(KvPages, ASavedPageSaysWhichWindowsItHas) {
  const FrameLimits limits = {.n_lists = 1, .n_rows = 16};
  Result<KvPages> pages = KvPages::create(mixed(KvType::int8), 400, limits);
  ASSERT_TRUE(pages.has_value());
  give_frames(*pages, 3);
  std::vector<std::byte> bytes(static_cast<size_t>(pages->saved_bytes()));
  const std::vector<float> x(32, 0.5F);
  for (int64_t layer = 0; layer < 4; ++layer) {
    store_token(kernels(), *pages, {3, 2, layer, 1}, x.data(), x.data() + layer);
  }
  pages->save(3, pages->all_groups(), bytes);
  give_frames(*pages, 4);
  EXPECT_TRUE(pages->load(4, pages->all_groups(), bytes));
  for (int64_t layer = 0; layer < 4; ++layer) {
    const KvView& view = pages->settled(layer);
    const auto n = static_cast<size_t>(view.shape().value_bytes());
    const auto values = [&](PageId page) {
      std::vector<std::byte> bytes(n);
      pages->device().download(view.region->values(view.frame(page), view.layer, 1), bytes);
      return bytes;
    };
    EXPECT_EQ(values(3), values(4));
    EXPECT_NE(values(3), std::vector<std::byte>(n));
  }
  // With the first window alone: the second is neither written nor read.
  pages->save(3, 0b011, bytes);
  EXPECT_FALSE(pages->load(4, 0b111, bytes));
  EXPECT_TRUE(pages->load(4, 0b011, bytes));
  pages->save(5, 0b001, bytes);  // a page without frames
  EXPECT_FALSE(pages->load(4, 0b011, bytes));
  EXPECT_TRUE(pages->load(4, 0b001, bytes));
}

TEST(KvPages, AFrameIsWhereTheTableSaysAndNoPageSharesIt) {
  const CacheLayout layout = CacheLayout::uniform(1, square(1, 16, KvType::int4));
  Result<KvPages> pages = KvPages::create(layout, 40, FrameLimits{.n_lists = 1, .n_rows = 1});
  ASSERT_TRUE(pages.has_value());
  KvFrames& tails = *pages->assigned().back();
  ASSERT_EQ(&tails, pages->tails());
  for (PageId page = 0; page < 40; ++page) EXPECT_EQ(tails.of(page), -1);
  tails.set(30, 1);
  pages->clear(30);
  const std::vector<float> x(16, 0.5F);
  store_token(kernels(), *pages, {30, 3, 0, 0}, x.data(), x.data());
  const auto value = [&](FrameId frame) {
    uint16_t half = 0;
    pages->device().download(tails.region().values(frame, 0, 0) + 3 * 16 * 2,
                             std::as_writable_bytes(std::span(&half, 1)));
    return half;
  };
  EXPECT_EQ(value(1), 0x3800);  // 0.5
  pages->copy(30, 7);           // a page without a tail gets the store's form
  tails.set(8, 0);
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
  const CacheLayout layout = CacheLayout::uniform(1, square(1, 16, KvType::int4));
  Result<KvPages> pages = KvPages::create(layout, 3);
  ASSERT_TRUE(pages.has_value());
  std::vector<float> x(16, 0.5F);
  pages->clear(0);
  store_token(kernels(), *pages, {0, 3, 0, 0}, x.data(), x.data());
  pages->copy(0, 2);
  const KvRegion& tail = *pages->newest(0).region;
  std::vector<std::byte> first(static_cast<size_t>(tail.frame_bytes()));
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
      const CacheLayout layout = CacheLayout::uniform(1, {1, head_dim, head_dim + 2, type});
      Result<KvPages> pages = KvPages::create(layout, 2);
      ASSERT_TRUE(pages.has_value());
      Rng rng(4);
      std::vector<float> x(static_cast<size_t>((head_dim + 2) * kPageTokens * 2));
      for (float& v : x) v = static_cast<float>(rng.uniform() * 4 - 2);
      pages->clear(0);
      pages->clear(1);
      for (int64_t slot = 0; slot < kPageTokens; ++slot) {
        store_token(kernels(), *pages, {0, slot, 0, 0}, x.data() + slot * head_dim, x.data());
        store_token(kernels(), *pages, {1, slot, 0, 0}, x.data() + head_dim * kPageTokens,
                    x.data() + 3);
      }
      for (int64_t slot = kPageTokens - 1; slot >= 0; --slot) {
        store_token(kernels(), *pages, {1, slot, 0, 0}, x.data() + slot * head_dim, x.data());
      }
      std::vector<std::byte> first(static_cast<size_t>(pages->saved_bytes()));
      std::vector<std::byte> second(first.size());
      pages->save(0, pages->all_groups(), first);
      pages->save(1, pages->all_groups(), second);
      EXPECT_EQ(first, second) << kv_type_name(type) << ", head of " << head_dim;
    }
  }
}

// The claim that windows are made for: a sequence at 32k holds little more than what its layers
// read. Shapes of Gemma 2 2B, Gemma 3 1B and 4B.
TEST(KvPages, ALongSequenceHoldsHardlyMoreThanItsWindowsNeed) {
  struct Case {
    int64_t n_layers, every, window, n_heads, head_dim;
  };
  constexpr int64_t kTokens = 32768, kRows = 512;
  for (const Case& c : {Case{26, 2, 4096, 4, 256}, {26, 6, 512, 1, 256}, {34, 6, 1024, 4, 256}}) {
    CacheLayout layout = CacheLayout::uniform(c.n_layers, square(c.n_heads, c.head_dim));
    int64_t needed = 0, needed_by_step = 0;
    for (int64_t i = 0; i < c.n_layers; ++i) {
      const int64_t window = (i + 1) % c.every == 0 ? 0 : c.window;
      layout.layers[static_cast<size_t>(i)].window = window;
      const int64_t n_tokens = window > 0 ? window : kTokens;
      needed += layout.layers[0].shape.page_bytes() * n_tokens / kPageTokens;
      needed_by_step +=
          layout.layers[0].shape.page_bytes() * std::min(kTokens, n_tokens + kRows) / kPageTokens;
    }
    const FrameLimits limits = {.n_lists = 1, .n_rows = kRows};
    Result<KvPages> pages = KvPages::create(layout, pages_for(kTokens), limits);
    ASSERT_TRUE(pages.has_value());
    const auto share = [](int64_t bytes, int64_t of) {
      return static_cast<double>(bytes) / static_cast<double>(of);
    };
    EXPECT_LE(share(pages->held_bytes(kTokens), needed), 1.02);
    EXPECT_LE(share(pages->n_bytes(), needed_by_step), 1.05) << "all that is allocated";
  }
}

}  // namespace
}  // namespace ruv
