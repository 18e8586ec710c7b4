// Tails are never lost, shared by mistake or taken from who reads them.
#include "cache/tail_slots.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>

#include "base/rng.h"
#include "cache/page_list.h"

namespace ruv {
namespace {

constexpr KvShape kShape = {.n_layers = 1, .n_kv_heads = 1, .head_dim = 16, .type = KvType::int4};

class TailSlotsTest : public testing::Test {
 protected:
  void make(int64_t n_pages, int64_t n_tails) {
    memory_.emplace(std::move(*KvPages::create(kShape, n_pages, n_tails)));
    tails_.emplace(*memory_);
  }
  // The whole tail says `number`, until it is cleared.
  void mark(PageId page, uint32_t number) { std::memcpy(bytes(page), &number, 4); }
  uint32_t marked(PageId page) {
    uint32_t number = 0;
    std::memcpy(&number, bytes(page), 4);
    return number;
  }
  std::byte* bytes(PageId page) { return memory_->tail().values(memory_->tail_of(page), 0, 0); }
  void use(PageId page, bool passed = false) {
    tails_->pin(page);
    tails_->unpin(page, passed);
  }

  std::optional<KvPages> memory_;
  std::optional<TailSlots> tails_;
};

TEST_F(TailSlotsTest, TheOneUsedLongestAgoGoes) {
  make(8, 3);
  for (const PageId page : {0, 1, 2}) use(page);
  use(0);
  use(3);
  EXPECT_FALSE(tails_->has(1));
  EXPECT_TRUE(tails_->has(0) && tails_->has(2) && tails_->has(3));
  EXPECT_EQ(tails_->n_demoted(), 1);
  EXPECT_EQ(tails_->n_used(), 3);
  EXPECT_TRUE(tails_->consistent());
}

TEST_F(TailSlotsTest, PassedOnesGoBeforeThoseThatATextEndedIn) {
  make(8, 3);
  use(0);
  use(1, true);
  use(2, true);
  use(2, true);  // somebody began in it
  use(3);
  EXPECT_FALSE(tails_->has(1));
  use(4);
  EXPECT_FALSE(tails_->has(0));
  EXPECT_TRUE(tails_->has(2));
}

TEST_F(TailSlotsTest, PinnedOnesStay) {
  make(8, 2);
  tails_->pin(0);
  tails_->pin(0);
  tails_->unpin(0, false);
  for (PageId page = 1; page < 8; ++page) use(page);
  EXPECT_TRUE(tails_->has(0));
  EXPECT_TRUE(tails_->has(7));
  EXPECT_EQ(tails_->n_demoted(), 6);
  EXPECT_EQ(tails_->n_pins(), 1);
}

TEST_F(TailSlotsTest, ANewTailIsZeroAndTheOldOneStaysAsItIs) {
  make(4, 1);
  tails_->pin(0);
  mark(0, 17);
  tails_->unpin(0, false);
  tails_->pin(0);
  EXPECT_EQ(marked(0), 17U);
  tails_->unpin(0, false);
  use(1);
  EXPECT_EQ(marked(1), 0U);
}

TEST_F(TailSlotsTest, ATailMovesToAnEqualPageThatHasNone) {
  make(4, 2);
  tails_->pin(0);
  mark(0, 9);
  tails_->move(0, 1);
  EXPECT_FALSE(tails_->has(0));
  EXPECT_EQ(marked(1), 9U);
  // Where both have one the page that stays keeps its own, and the pins of both.
  tails_->pin(2);
  mark(2, 10);
  tails_->move(2, 1);
  EXPECT_EQ(marked(1), 9U);
  EXPECT_EQ(tails_->n_used(), 1);
  EXPECT_EQ(tails_->n_pins(), 2);
  tails_->unpin(1, false);
  tails_->unpin(1, false);
  tails_->move(3, 1);  // has none to give
  EXPECT_EQ(marked(1), 9U);
  tails_->drop(1);
  EXPECT_EQ(tails_->n_used(), 0);
  EXPECT_EQ(tails_->n_demoted(), 0);
  EXPECT_TRUE(tails_->consistent());
}

TEST_F(TailSlotsTest, RandomUseKeepsTheBooks) {
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
        if (!tails_->has(page)) marks[page] = 0;
        tails_->pin(page);
        ++pins[page];
        EXPECT_EQ(marked(page), marks[page]) << "step " << i;
        mark(page, marks[page] = i);
        break;
      case 2:
        if (!pins.contains(page)) break;
        tails_->unpin(page, rng.below(2) == 0);
        if (--pins[page] == 0) pins.erase(page);
        break;
      case 3: {
        const PageId to = random_page();
        if (to == page || !tails_->has(page)) break;
        if (!tails_->has(to)) marks[to] = marks[page];
        tails_->move(page, to);
        EXPECT_EQ(marked(to), marks[to]);
        if (pins.contains(page)) pins[to] += pins[page];
        pins.erase(page);
        break;
      }
      default:
        if (pins.contains(page)) break;
        tails_->drop(page);
        EXPECT_FALSE(tails_->has(page));
    }
    if (i % 100 == 0) {
      ASSERT_TRUE(tails_->consistent()) << "step " << i;
    }
    int64_t n_pins = 0;
    for (const auto& [pinned, n] : pins) {
      ASSERT_TRUE(tails_->has(pinned)) << "step " << i;
      n_pins += n;
    }
    ASSERT_EQ(tails_->n_pins(), n_pins);
  }
  EXPECT_GT(tails_->n_demoted(), 100);
}

TEST_F(TailSlotsTest, AFreePageHasNoTail) {
  make(4, 4);
  PagePool pool(4, &*tails_);
  {
    PageList list(pool);
    ASSERT_TRUE(list.grow(3 * kPageTokens, *memory_));
    list.pin_tails(0, 40);
    EXPECT_EQ(tails_->n_used(), 3);
    EXPECT_TRUE(pool.consistent());
  }
  EXPECT_EQ(tails_->n_used(), 0);
  EXPECT_EQ(tails_->n_demoted(), 0);
  EXPECT_TRUE(pool.consistent());
}

// Of a text that is over, the tails of its last group are worth most.
TEST_F(TailSlotsTest, AListThatIsClearedLeavesItsLastGroupLongest) {
  make(64, 20);
  PagePool pool(64, &*tails_);
  PageList list(pool);
  ASSERT_TRUE(list.grow(300, *memory_));  // 16 pages and 3 of the next group
  list.pin_tails(0, 300);
  const std::vector<PageId> pages(list.pages().begin(), list.pages().end());
  for (const PageId page : pages) pool.cache(page);
  list.clear();
  ASSERT_TRUE(list.grow(6 * kPageTokens, *memory_));
  list.pin_tails(0, 6 * kPageTokens);
  EXPECT_EQ(tails_->n_demoted(), 5);
  for (size_t i = 0; i < pages.size(); ++i) {
    EXPECT_EQ(tails_->has(pages[i]), i < 11 || i >= 16) << "page " << i;
  }
}

TEST_F(TailSlotsTest, AListPinsItsGroupAndWhatItsRowsTouch) {
  make(64, 64);
  PagePool pool(64, &*tails_);
  PageList list(pool);
  ASSERT_TRUE(list.grow(600, *memory_));
  list.pin_tails(0, 600);
  EXPECT_EQ(list.n_pinned(), 38);
  list.trim_tails(600);
  EXPECT_EQ(list.n_pinned(), 6);  // of tokens 512 to 599
  EXPECT_EQ(tails_->n_pins(), 6);
  EXPECT_EQ(tails_->n_used(), 38);
  ASSERT_TRUE(list.grow(640, *memory_));
  list.pin_tails(600, 640);
  EXPECT_EQ(list.n_pinned(), 8);
  list.trim_tails(601);
  EXPECT_EQ(list.n_pinned(), 7) << "a page that drafts began stays";
  list.trim_tails(600);  // a step that was given up
  EXPECT_EQ(list.n_pinned(), 7);
  PageList moved(std::move(list));
  EXPECT_EQ(moved.n_pinned(), 7);
  EXPECT_EQ(list.n_pinned(), 0);
  moved.clear();
  EXPECT_EQ(tails_->n_pins(), 0);
}

TEST_F(TailSlotsTest, ACopyHasATailOfItsOwnWhereThePageHasOne) {
  make(8, 3);
  PagePool pool(8, &*tails_);
  PageList first(pool);
  ASSERT_TRUE(first.grow(20, *memory_));
  first.pin_tails(0, 20);
  mark(first.pages()[1], 5);
  first.clear();
  // The tree's page, nobody pins its tail: the copy must not take it.
  std::vector<PageId> kept;
  ASSERT_TRUE(pool.reserve(2, kept));
  for (const PageId page : kept) tails_->pin(page);
  mark(kept[0], 7);
  mark(kept[1], 8);
  for (const PageId page : kept) tails_->unpin(page, false);
  use(7);
  PageList second(pool);
  second.share(kept[0]);
  second.pin_tails(kPageTokens, kPageTokens);
  ASSERT_TRUE(second.append_copy(kept[1], *memory_));
  EXPECT_EQ(second.n_pinned(), 2);
  EXPECT_EQ(marked(second.pages()[1]), 8U);
  EXPECT_EQ(marked(kept[1]), 8U);
  second.clear();
  for (const PageId page : kept) pool.release(page);
  EXPECT_TRUE(tails_->consistent());
}

// The sum that makes pinning safe: m lists at their worst places, n rows dealt out among them.
TEST_F(TailSlotsTest, EnoughIsEnough) {
  Rng rng(11);
  for (int world = 0; world < 300; ++world) {
    const auto n_lists = 1 + static_cast<int64_t>(rng.below(5));
    const auto n_rows = 1 + static_cast<int64_t>(rng.below(200));
    const int64_t n_pages = n_lists * 80;
    make(n_pages, TailSlots::enough_for(n_lists, n_rows));
    PagePool pool(n_pages, &*tails_);
    std::vector<PageList> lists;
    std::vector<int64_t> n_done;
    for (int64_t i = 0; i < n_lists; ++i) {
      lists.emplace_back(pool);
      n_done.push_back(0);
    }
    for (int step = 0; step < 20; ++step) {
      int64_t n_left = n_rows;
      for (size_t i = 0; i < lists.size(); ++i) lists[i].trim_tails(n_done[i]);
      for (size_t i = 0; i < lists.size(); ++i) {
        const auto n = static_cast<int64_t>(rng.below(static_cast<uint64_t>(n_left) + 1));
        n_left -= n;
        if (n == 0 || n_done[i] + n > 1000) continue;
        ASSERT_TRUE(lists[i].grow(n_done[i] + n, *memory_));
        lists[i].pin_tails(n_done[i], n_done[i] + n);
        // All, or some as when drafts are refused.
        n_done[i] += n < 17 && rng.below(2) == 0 ? 1 : n;
      }
    }
    ASSERT_TRUE(tails_->consistent());
  }
}

}  // namespace
}  // namespace ruv
