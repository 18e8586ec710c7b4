#include "net/models/model_moves.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"

namespace ruv {
namespace {

using Kind = ModelMove::Kind;

ModelMove move_of(const std::vector<ModelSlot>& slots, int64_t now = 100) {
  return next_model_move(slots, 10, now);
}

ModelSlot loaded(int64_t n_bytes, int64_t n_users, int64_t last_use) {
  return {.loaded = true, .n_bytes = n_bytes, .n_users = n_users, .last_use = last_use};
}
ModelSlot wanted(int64_t n_bytes, int64_t first_waits) {
  return {.n_bytes = n_bytes, .n_waiting = 1, .first_waits = first_waits};
}

TEST(ModelMoves, LoadTheLongestWaitedForWhereThereIsRoom) {
  const ModelMove move = move_of({loaded(4, 1, 0), wanted(3, 8), wanted(6, 7)});
  EXPECT_EQ(move.kind, Kind::load);
  EXPECT_EQ(move.model, 2U);
}

TEST(ModelMoves, TheIdleModelThatWasUsedLeastLatelyLeavesForAnother) {
  const ModelMove move = move_of({loaded(3, 1, 1), loaded(3, 0, 9), loaded(3, 0, 5), wanted(4, 0)});
  EXPECT_EQ(move.kind, Kind::unload);
  EXPECT_EQ(move.model, 2U);
}

TEST(ModelMoves, AModelInUseTakesNoMoreRequestsWhereNoneIsIdle) {
  std::vector<ModelSlot> slots{loaded(5, 2, 4), loaded(5, 1, 3), wanted(5, 0)};
  ModelMove move = move_of(slots);
  EXPECT_EQ(move.kind, Kind::leave);
  EXPECT_EQ(move.model, 1U);
  slots[1].leaves = true;
  EXPECT_EQ(move_of(slots).kind, Kind::none) << "one is enough";
  slots[1].n_users = 0;
  EXPECT_EQ(move_of(slots).kind, Kind::unload);
}

TEST(ModelMoves, AModelAloneIsLoadedWhateverItsSize) {
  EXPECT_EQ(move_of({wanted(1000, 0)}).kind, Kind::load);
  EXPECT_EQ(move_of({wanted(INT64_MAX, 0), loaded(1, 0, 0)}).kind, Kind::unload);
}

TEST(ModelMoves, IdleModelsLeaveWhenTheirTimeIsOver) {
  std::vector<ModelSlot> slots{loaded(1, 0, 90), loaded(1, 1, 0), loaded(1, 0, 0)};
  slots[0].keep = 20;
  slots[1].keep = 0;
  ModelMove move = move_of(slots, 109);
  EXPECT_EQ(move.kind, Kind::none);
  EXPECT_EQ(move.at, 110);
  move = move_of(slots, 110);
  EXPECT_EQ(move.kind, Kind::unload);
  EXPECT_EQ(move.model, 0U);
}

// Requests come and go at random. Every request gets its model in the end, and models that are
// loaded together fit.
TEST(ModelMoves, EveryRequestIsServedAndMemoryIsKept) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<ModelSlot> slots(4);
    for (ModelSlot& slot : slots) slot.n_bytes = 1 + static_cast<int64_t>(rng.below(12));
    int64_t n_asked = 0, n_served = 0;
    for (int64_t now = 0; now < 400; ++now) {
      ModelSlot& asked = slots[rng.below(slots.size())];
      if (now < 200) {
        if (asked.loaded && !asked.leaves) {
          ++asked.n_users;
          ++n_served;
        } else if (asked.n_waiting++ == 0) {
          asked.first_waits = n_asked;
        }
        ++n_asked;
      }
      for (ModelSlot& slot : slots) {
        if (slot.n_users == 0 || rng.below(2) != 0) continue;
        --slot.n_users;
        slot.last_use = now;
      }
      const ModelMove move = next_model_move(slots, 10, now);
      ModelSlot& slot = slots[move.model];
      if (move.kind == Kind::leave) slot.leaves = true;
      if (move.kind == Kind::unload) {
        ASSERT_TRUE(slot.is_idle());
        slot.loaded = slot.leaves = false;
      }
      if (move.kind == Kind::load) {
        slot.loaded = true;
        n_served += std::exchange(slot.n_waiting, 0);
        slot.n_users = 1;
      }
      int64_t n_bytes = 0, n_loaded = 0;
      for (const ModelSlot& one : slots) {
        n_bytes += one.loaded ? one.n_bytes : 0;
        n_loaded += one.loaded;
      }
      ASSERT_TRUE(n_bytes <= 10 || n_loaded == 1);
    }
    EXPECT_EQ(n_served, n_asked);
  }
}

}  // namespace
}  // namespace ruv
