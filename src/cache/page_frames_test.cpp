// Frames are never lost, shared by mistake or taken from who reads them.
#include "cache/page_frames.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "cache/page_list.h"

namespace ruv {
namespace {

constexpr KvShape kShape = {1, 16, 16, KvType::int4};

class PageFramesTest : public testing::Test {
 protected:
  // The tails of a tiered type, or a window's pages.
  void make(int64_t n_pages, int64_t n_frames) {
    CacheLayout layout = CacheLayout::uniform(1, kShape);
    make(layout, n_pages, {.n_kept = n_frames - 1});
    ASSERT_EQ(frames().n_frames(), n_frames);
  }
  void make(const CacheLayout& layout, int64_t n_pages, const FrameLimits& limits) {
    memory_.emplace(std::move(*KvPages::create(layout, n_pages, limits)));
    frames_ = frames_of(*memory_);
  }
  PageFrames& frames() { return frames_.front(); }
  // The whole frame says `number`, until it is cleared.
  void mark(PageId page, uint32_t number) {
    memory_->device().upload(place_of(page), std::as_bytes(std::span(&number, 1)));
  }
  uint32_t marked(PageId page) {
    uint32_t number = 0;
    memory_->device().download(place_of(page), std::as_writable_bytes(std::span(&number, 1)));
    return number;
  }
  Address place_of(PageId page) {
    const KvFrames& group = *memory_->assigned().front();
    return group.region().values(group.of(page), 0, 0);
  }
  void use(PageId page, bool passed = false) {
    frames().pin(page);
    frames().unpin(page, passed);
  }

  std::optional<KvPages> memory_;
  std::vector<PageFrames> frames_;
};

TEST_F(PageFramesTest, TheOneUsedLongestAgoGoes) {
  make(8, 3);
  for (const PageId page : {0, 1, 2}) use(page);
  use(0);
  use(3);
  EXPECT_FALSE(frames().has(1));
  EXPECT_TRUE(frames().has(0) && frames().has(2) && frames().has(3));
  EXPECT_EQ(frames().n_evicted(), 1);
  EXPECT_EQ(frames().n_used(), 3);
  EXPECT_TRUE(frames().consistent());
}

TEST_F(PageFramesTest, PassedOnesGoBeforeThoseThatATextEndedIn) {
  make(8, 3);
  use(0);
  use(1, true);
  use(2, true);
  use(2, true);  // somebody began in it
  use(3);
  EXPECT_FALSE(frames().has(1));
  use(4);
  EXPECT_FALSE(frames().has(0));
  EXPECT_TRUE(frames().has(2));
}

TEST_F(PageFramesTest, PinnedOnesStay) {
  make(8, 2);
  frames().pin(0);
  frames().pin(0);
  frames().unpin(0, false);
  for (PageId page = 1; page < 8; ++page) use(page);
  EXPECT_TRUE(frames().has(0));
  EXPECT_TRUE(frames().has(7));
  EXPECT_EQ(frames().n_evicted(), 6);
  EXPECT_EQ(frames().n_pins(), 1);
}

TEST_F(PageFramesTest, ANewTailIsZeroAndTheOldOneStaysAsItIs) {
  make(4, 1);
  frames().pin(0);
  mark(0, 17);
  frames().unpin(0, false);
  frames().pin(0);
  EXPECT_EQ(marked(0), 17U);
  frames().unpin(0, false);
  use(1);
  EXPECT_EQ(marked(1), 0U);
}

TEST_F(PageFramesTest, ATailMovesToAnEqualPageThatHasNone) {
  make(4, 2);
  frames().pin(0);
  mark(0, 9);
  frames().move(0, 1);
  EXPECT_FALSE(frames().has(0));
  EXPECT_EQ(marked(1), 9U);
  // Where both have one the page that stays keeps its own, and the pins of both.
  frames().pin(2);
  mark(2, 10);
  frames().move(2, 1);
  EXPECT_EQ(marked(1), 9U);
  EXPECT_EQ(frames().n_used(), 1);
  EXPECT_EQ(frames().n_pins(), 2);
  frames().unpin(1, false);
  frames().unpin(1, false);
  frames().move(3, 1);  // has none to give
  EXPECT_EQ(marked(1), 9U);
  frames().drop(1);
  EXPECT_EQ(frames().n_used(), 0);
  EXPECT_EQ(frames().n_evicted(), 0);
  EXPECT_TRUE(frames().consistent());
}

TEST_F(PageFramesTest, RandomUseKeepsTheBooks) {
  constexpr int64_t kPages = 40, kSlots = 12;
  make(kPages, kSlots);
  Rng rng(3);
  std::map<PageId, int64_t> pins;
  std::map<PageId, uint32_t> marks;
  const auto random_page = [&] { return static_cast<PageId>(rng.below(kPages)); };
  for (uint32_t i = 1; i < 50000; ++i) {
    const PageId page = random_page();
    switch (rng.below(5)) {
      case 0:
      case 1:
        if (!pins.contains(page) && pins.size() == kSlots) break;
        if (!frames().has(page)) marks[page] = 0;
        frames().pin(page);
        ++pins[page];
        EXPECT_EQ(marked(page), marks[page]) << "step " << i;
        mark(page, marks[page] = i);
        break;
      case 2:
        if (!pins.contains(page)) break;
        frames().unpin(page, rng.below(2) == 0);
        if (--pins[page] == 0) pins.erase(page);
        break;
      case 3: {
        const PageId to = random_page();
        if (to == page || !frames().has(page)) break;
        if (!frames().has(to)) marks[to] = marks[page];
        frames().move(page, to);
        EXPECT_EQ(marked(to), marks[to]);
        if (pins.contains(page)) pins[to] += pins[page];
        pins.erase(page);
        break;
      }
      default:
        if (pins.contains(page)) break;
        frames().drop(page);
        EXPECT_FALSE(frames().has(page));
    }
    if (i % 100 == 0) {
      ASSERT_TRUE(frames().consistent()) << "step " << i;
    }
    int64_t n_pins = 0;
    for (const auto& [pinned, n] : pins) {
      ASSERT_TRUE(frames().has(pinned)) << "step " << i;
      n_pins += n;
    }
    ASSERT_EQ(frames().n_pins(), n_pins);
  }
  EXPECT_GT(frames().n_evicted(), 100);
}

TEST_F(PageFramesTest, AFreePageHasNoTail) {
  make(4, 4);
  PagePool pool(4, frames_);
  {
    PageList list(pool);
    ASSERT_TRUE(list.grow(3 * kPageTokens, *memory_));
    list.pin(0, 40);
    EXPECT_EQ(frames().n_used(), 3);
    EXPECT_TRUE(pool.consistent());
  }
  EXPECT_EQ(frames().n_used(), 0);
  EXPECT_EQ(frames().n_evicted(), 0);
  EXPECT_TRUE(pool.consistent());
}

// Of a text that is over, the tails of its last group are worth most.
TEST_F(PageFramesTest, AListThatIsClearedLeavesItsLastGroupLongest) {
  make(64, 20);
  PagePool pool(64, frames_);
  PageList list(pool);
  ASSERT_TRUE(list.grow(300, *memory_));  // 16 pages and 3 of the next group
  list.pin(0, 300);
  const std::vector<PageId> pages(list.pages().begin(), list.pages().end());
  for (const PageId page : pages) pool.cache(page);
  list.clear();
  ASSERT_TRUE(list.grow(6 * kPageTokens, *memory_));
  list.pin(0, 6 * kPageTokens);
  EXPECT_EQ(frames().n_evicted(), 5);
  for (size_t i = 0; i < pages.size(); ++i) {
    EXPECT_EQ(frames().has(pages[i]), i < 11 || i >= 16) << "page " << i;
  }
}

TEST_F(PageFramesTest, AListPinsItsGroupAndWhatItsRowsTouch) {
  make(64, 64);
  PagePool pool(64, frames_);
  PageList list(pool);
  ASSERT_TRUE(list.grow(600, *memory_));
  list.pin(0, 600);
  EXPECT_EQ(list.n_pinned(0), 38);
  list.trim(600);
  EXPECT_EQ(list.n_pinned(0), 6);  // of tokens 512 to 599
  EXPECT_EQ(frames().n_pins(), 6);
  EXPECT_EQ(frames().n_used(), 38);
  ASSERT_TRUE(list.grow(640, *memory_));
  list.pin(600, 640);
  EXPECT_EQ(list.n_pinned(0), 8);
  list.trim(601);
  EXPECT_EQ(list.n_pinned(0), 7) << "a page that drafts began stays";
  list.trim(600);  // a step that was given up
  EXPECT_EQ(list.n_pinned(0), 7);
  PageList moved(std::move(list));
  EXPECT_EQ(moved.n_pinned(0), 7);
  EXPECT_EQ(list.n_pinned(0), 0);
  moved.clear();
  EXPECT_EQ(frames().n_pins(), 0);
}

TEST_F(PageFramesTest, ACopyHasATailOfItsOwnWhereThePageHasOne) {
  make(8, 3);
  PagePool pool(8, frames_);
  PageList first(pool);
  ASSERT_TRUE(first.grow(20, *memory_));
  first.pin(0, 20);
  mark(first.pages()[1], 5);
  first.clear();
  // The tree's page, nobody pins its tail: the copy must not take it.
  std::vector<PageId> kept;
  ASSERT_TRUE(pool.reserve(2, kept));
  for (const PageId page : kept) frames().pin(page);
  mark(kept[0], 7);
  mark(kept[1], 8);
  for (const PageId page : kept) frames().unpin(page, false);
  use(7);
  PageList second(pool);
  second.share(kept[0]);
  second.pin(kPageTokens, kPageTokens);
  ASSERT_TRUE(second.append_copy(kept[1], *memory_));
  EXPECT_EQ(second.n_pinned(0), 2);
  EXPECT_EQ(marked(second.pages()[1]), 8U);
  EXPECT_EQ(marked(kept[1]), 8U);
  second.clear();
  for (const PageId page : kept) pool.release(page);
  EXPECT_TRUE(frames().consistent());
}

// A window's pages slide: the list gives up what its next row does not read.
TEST_F(PageFramesTest, AListPinsItsWindowAndGivesBackWhatSlidOut) {
  make({{{kShape, 0}, {{1, 8, 8}, 100}}}, 200, {.n_lists = 1, .n_rows = 64});
  ASSERT_EQ(frames_.size(), 2U);
  ASSERT_EQ(frames().reach().window, 100);
  PagePool pool(200, frames_);
  PageList list(pool);
  ASSERT_TRUE(list.grow(64, *memory_));
  list.pin(0, 64);
  list.trim(64);
  EXPECT_EQ(list.n_pinned(0), 4);
  for (int64_t n = 64; n < 3000; n += 64) {
    ASSERT_TRUE(list.grow(n + 64, *memory_));
    list.pin(n, n + 64);
    list.trim(n + 64);
    // Of the row at n + 64: tokens from n - 35 on, which lie in the block that begins at n - 64.
    EXPECT_EQ(list.n_pinned(0), 8) << n;
    EXPECT_TRUE(frames().consistent());
  }
  EXPECT_LE(frames().n_used(), frames().n_frames());
  EXPECT_GT(frames().n_evicted(), 150);
  const PageId first = list.pages().front(), last = list.pages().back();
  EXPECT_FALSE(pool.readable(first, 0, 50));
  EXPECT_TRUE(pool.readable(last, list.n_pages() - 1, list.n_pages() * kPageTokens));
  EXPECT_TRUE(pool.readable(first, 0, 300)) << "out of reach";
}

// The disk takes no frame that running sequences could need.
TEST_F(PageFramesTest, TheDiskHoldsOnlyWhatIsThereForCachedPrefixes) {
  make({{{{1, 8, 8}, 32}}}, 100, {.n_lists = 1, .n_rows = 16, .n_kept = 3});
  EXPECT_TRUE(frames().hold(1));
  EXPECT_TRUE(frames().hold(2));
  EXPECT_TRUE(frames().hold(2));
  EXPECT_FALSE(frames().hold(3));
  EXPECT_FALSE(frames().has(3));
  frames().let_go(2);
  EXPECT_TRUE(frames().hold(3));
  EXPECT_EQ(frames().n_held(), 3);
  PagePool pool(100, frames_);
  PageList list(pool);
  for (int64_t n = 0; n < 1000; n += 16) {
    ASSERT_TRUE(list.grow(n + 16, *memory_));
    list.pin(n, n + 16);
    list.trim(n + 16);
  }
  for (const PageId page : {1, 2, 3}) frames().let_go(page);
  EXPECT_TRUE(frames().consistent());
}

// The sum that makes pinning safe: m lists at their worst places, n rows dealt out among them.
TEST_F(PageFramesTest, EnoughIsEnough) {
  Rng rng(11);
  for (int world = 0; world < 600; ++world) {
    const auto window = static_cast<int64_t>(world % 2 == 0 ? 0 : 1 + rng.below(300));
    const auto n_lists = 1 + static_cast<int64_t>(rng.below(5));
    const auto n_rows = 1 + static_cast<int64_t>(rng.below(200));
    const int64_t n_pages = n_lists * 80;
    make({{{kShape, window}}}, n_pages, FrameLimits{.n_lists = n_lists, .n_rows = n_rows});
    PagePool pool(n_pages, frames_);
    std::vector<PageList> lists;
    std::vector<int64_t> n_done;
    for (int64_t i = 0; i < n_lists; ++i) {
      lists.emplace_back(pool);
      n_done.push_back(0);
    }
    for (int step = 0; step < 20; ++step) {
      int64_t n_left = n_rows;
      for (size_t i = 0; i < lists.size(); ++i) lists[i].trim(n_done[i]);
      for (size_t i = 0; i < lists.size(); ++i) {
        const auto n = static_cast<int64_t>(rng.below(static_cast<uint64_t>(n_left) + 1));
        n_left -= n;
        if (n == 0 || n_done[i] + n > 1000) continue;
        ASSERT_TRUE(lists[i].grow(n_done[i] + n, *memory_));
        lists[i].pin(n_done[i], n_done[i] + n);
        // All, or some as when drafts are refused.
        n_done[i] += n < 17 && rng.below(2) == 0 ? 1 : n;
      }
    }
    ASSERT_TRUE(frames().consistent());
  }
}

}  // namespace
}  // namespace ruv
