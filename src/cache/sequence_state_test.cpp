// A sequence reads the state it has left, whatever its steps were; and of its text so few
// checkpoints stay that large states take no more memory than they should, but enough to resume.
#include "cache/sequence_state.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/rng.h"
#include "cache/page_list.h"

namespace ruv {
namespace {

constexpr KvShape kTokens = {1, 8, 8};

// A state here is the number of tokens before it.
class SequenceStateTest : public testing::Test {
 protected:
  // Checkpoints `apart` pages apart.
  void make(int64_t apart, int64_t n_pages, int64_t n_checkpoints) {
    KvShape shape = kTokens;
    shape.state_bytes = apart * shape.page_bytes();
    const FrameLimits limits = {
        .n_lists = 2, .n_rows = 64, .n_drafts = 6, .n_checkpoints = n_checkpoints};
    pool_.reset();
    memory_.emplace(std::move(*KvPages::create({{{shape}}}, n_pages, limits)));
    frames_ = frames_of(*memory_);
    pool_.emplace(n_pages, frames_);
    ASSERT_EQ(frames().reach().checkpoint_pages, apart);
  }
  PageFrames& frames() { return frames_.front(); }
  int64_t state_in(FrameId frame) {
    int64_t n = 0;
    memory_->device().download(memory_->state(frame, 0), std::as_writable_bytes(std::span(&n, 1)));
    return n;
  }
  // Of the rows' drafts, `n_right` turn out right.
  void step(PageList& list, const StepRows& rows, int64_t n_right = 0) {
    ASSERT_TRUE(list.grow(rows.first + rows.n_known + rows.n_drafts, *memory_));
    BatchBuilder batch;
    list.begin_step(batch, rows);
    const BatchSequence& sequence = batch.batch().sequences.front();
    ASSERT_EQ(state_in(sequence.state), rows.first);
    for (const StateOut& out : sequence.state_outs) {
      ASSERT_NE(out.frame, sequence.state) << "a state was not left as it is";
      const int64_t n = rows.first + out.row + 1;
      memory_->device().upload(memory_->state(out.frame, 0), std::as_bytes(std::span(&n, 1)));
    }
    if (rng_.below(5) == 0) return step(list, rows, n_right);  // it was given up
    list.finish_step(rows.first + rows.n_known + n_right);
    list.trim(rows.first + rows.n_known + n_right);
    ASSERT_TRUE(frames().consistent());
  }
  // A prompt up to `end`, in chunks, from `first` on.
  void compute_prompt(PageList& list, int64_t first, int64_t end) {
    while (first < end && !HasFailure()) {
      const int64_t n = std::min<int64_t>(end - first, 2 + static_cast<int64_t>(rng_.below(62)));
      step(list, {first, n, 0, end - first - n});
      first += n;
    }
  }
  void answer(PageList& list, int64_t first, int64_t end) {
    const int64_t n_prompt = first;
    while (first < end && !HasFailure()) {
      const auto n_drafts = static_cast<int64_t>(rng_.below(4));
      const auto n_right = static_cast<int64_t>(rng_.below(static_cast<uint64_t>(n_drafts) + 1));
      step(list, {first, 1, n_drafts}, n_right);
      first += 1 + n_right;
      ASSERT_TRUE(first / kPageTokens * kPageTokens <= n_prompt ||
                  has_checkpoint(list, first / kPageTokens - 1));
    }
    n_computed_ = first;
  }
  bool has_checkpoint(const PageList& list, int64_t i) {
    return frames().has(list.pages()[static_cast<size_t>(i)]);
  }
  std::vector<int64_t> checkpoints(const PageList& list) {
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < list.n_pages(); ++i) {
      if (has_checkpoint(list, i)) indices.push_back(i);
    }
    return indices;
  }

  Rng rng_{5};
  std::optional<KvPages> memory_;
  std::vector<PageFrames> frames_;
  std::optional<PagePool> pool_;
  int64_t n_computed_ = 0;
};

TEST_F(SequenceStateTest, AFrameIsZeroedOnlyWhereItIsRead) {
  make(1, 8, 0);
  const int64_t n = 7;
  std::vector<FrameId> taken;
  for (int64_t i = frames().n_frames(); i > 0; --i) {
    taken.push_back(frames().take_loose());
    memory_->device().upload(memory_->state(taken.back(), 0), std::as_bytes(std::span(&n, 1)));
  }
  for (const FrameId frame : taken) frames().give_back(frame);
  EXPECT_EQ(state_in(frames().take_loose()), 7);
  EXPECT_EQ(state_in(frames().take_zeroed()), 0);
}

TEST_F(SequenceStateTest, WhatAttachedAFrameMayDiscardItUnlessItWasUsed) {
  make(1, 8, 4);
  EXPECT_TRUE(frames().attach(frames().take_loose(), 3));
  EXPECT_FALSE(frames().attach(frames().take_loose(), 3)) << "it has one";
  frames().pin(3);
  frames().discard(3);
  EXPECT_TRUE(frames().has(3)) << "it is pinned";
  frames().unpin(3, true);
  frames().discard(3);
  EXPECT_FALSE(frames().has(3));
  EXPECT_EQ(frames().n_evicted(), 1);
  EXPECT_TRUE(frames().attach(frames().take_loose(), 3));
  for (int i = 0; i < 2; ++i) {
    frames().pin(3);
    frames().unpin(3, true);
  }
  frames().discard(3);
  EXPECT_TRUE(frames().has(3)) << "somebody resumed there";
  EXPECT_TRUE(frames().consistent());
}

// Small states: at the end of each page that a step passes last, as dense as steps are.
TEST_F(SequenceStateTest, SmallStatesHaveACheckpointForEachStep) {
  make(1, 40, 100);
  PageList list(*pool_);
  for (int64_t first = 0; first < 600; first += 40) step(list, {first, 40, 0, 600 - first - 40});
  EXPECT_EQ(checkpoints(list).size(), 15U);
}

// The rule: as far apart as their size demands, beside the ends of prompt and answer.
TEST_F(SequenceStateTest, LargeStatesHaveFewCheckpoints) {
  for (int64_t world = 0; world < 300 && !HasFailure(); ++world) {
    SCOPED_TRACE(world);
    const auto apart = 1 + static_cast<int64_t>(rng_.below(20));
    make(apart, 140, 200);
    const auto n_prompt = 64 + static_cast<int64_t>(rng_.below(800));
    PageList list(*pool_);
    compute_prompt(list, 0, n_prompt);
    const std::vector<int64_t> of_prompt = checkpoints(list);
    ASSERT_EQ(of_prompt.back(), (n_prompt - 1) / kPageTokens - 1) << "all but its last token";
    for (size_t i = 0; i + 1 < of_prompt.size(); ++i) {
      ASSERT_GE(of_prompt[i] - (i > 0 ? of_prompt[i - 1] : -1), apart);
    }
    answer(list, n_prompt, n_prompt + static_cast<int64_t>(rng_.below(300)));
    const std::vector<int64_t> all = checkpoints(list);
    const int64_t last = n_computed_ / kPageTokens - 1;
    ASSERT_TRUE(all.back() == last || (last + 1) * kPageTokens == n_prompt);
    ASSERT_TRUE(std::ranges::includes(all, of_prompt));
    ASSERT_LE(std::ssize(all), n_computed_ / kPageTokens / apart + 2);
    // A chunk has at most 63 tokens, so none is missed by more than 5 pages.
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_LE(all[i] - (i > 0 ? all[i - 1] : -1), apart + 5);
    }
  }
}

// When frames run out, the ends of texts stay longest.
TEST_F(SequenceStateTest, TheEndOfATextStaysLongest) {
  make(2, 140, 7);
  PageList first(*pool_);
  compute_prompt(first, 0, 400);
  answer(first, 400, 500);
  const std::vector<PageId> pages(first.pages().begin(), first.pages().end());
  const std::vector<int64_t> all = checkpoints(first);
  ASSERT_GT(all.size(), 4U);
  for (const PageId page : pages) pool_->cache(page);
  first.clear();
  PageList second(*pool_);
  compute_prompt(second, 0, 600);
  EXPECT_FALSE(frames().has(pages[static_cast<size_t>(all[0])]));
  EXPECT_TRUE(frames().has(pages[static_cast<size_t>(all.back())]));
}

// Another sequence begins at each of them, with the state that was there, and its own checkpoints
// do not cost the first one its.
TEST_F(SequenceStateTest, ATextIsResumedAtEachCheckpoint) {
  make(6, 140, 60);
  PageList first(*pool_);
  compute_prompt(first, 0, 700);
  answer(first, 700, 800);
  const std::vector<int64_t> all = checkpoints(first);
  ASSERT_GT(all.size(), 4U);
  for (const int64_t at : all) {
    PageList second(*pool_);
    for (int64_t i = 0; i <= at; ++i) second.share(first.pages()[static_cast<size_t>(i)]);
    const int64_t begin = (at + 1) * kPageTokens;
    second.pin(begin, begin);
    compute_prompt(second, begin, begin + 50);
    answer(second, begin + 50, begin + 90);
    EXPECT_TRUE(has_checkpoint(second, at));
  }
  EXPECT_EQ(checkpoints(first), all);
}

}  // namespace
}  // namespace ruv
