// What a time mix and a gated linear recurrence keep, and which matrices their layers have.
#include "model/time_mix.h"

#include <gtest/gtest.h>

#include "model/layer_plan.h"

namespace ruv {
namespace {

LayerPlan plan_of(TimeMix kind, int64_t head_dim) {
  LayerPlan plan;
  plan.n_embd = 12;
  plan.mixer = Mixer::time_mix;
  plan.feed_forward = FeedForward::channel_mix;
  plan.time_mix = {.kind = kind, .n_inner = 8, .head_dim = head_dim};
  return plan;
}

TEST(TimeMix, KeepsTwoRowsAndSumsOrMatrices) {
  EXPECT_EQ(TimeMixPlan().state_numbers(12), 0);
  EXPECT_EQ(plan_of(TimeMix::averages, 0).time_mix.state_numbers(12), 2 * 12 + 3 * 8);
  EXPECT_EQ(plan_of(TimeMix::matrices, 4).time_mix.state_numbers(12), 2 * 12 + 8 * 4);
  const CacheLayout layout = cache_layout(std::vector{plan_of(TimeMix::matrices, 4)});
  EXPECT_EQ(layout.state_bytes(), (24 + 32) * 4);
  EXPECT_EQ(layout.page_bytes(), 0);
}

TEST(TimeMix, GenerationsDifferInTheirMatrices) {
  const LayerPlan averages = plan_of(TimeMix::averages, 0);
  EXPECT_TRUE(averages.has(Role::time_r) && averages.has(Role::time_out));
  EXPECT_TRUE(averages.has(Role::channel_k) && averages.has(Role::channel_r));
  EXPECT_FALSE(averages.has(Role::time_g) || averages.has(Role::q) || averages.has(Role::up));
  EXPECT_TRUE(plan_of(TimeMix::matrices, 4).has(Role::time_g));
  EXPECT_TRUE(plan_of(TimeMix::dynamic, 4).has(Role::time_g));
  const LayerPlan corrected = plan_of(TimeMix::corrected, 4);
  EXPECT_FALSE(corrected.has(Role::time_g) || corrected.has(Role::channel_r));
  EXPECT_EQ(corrected.extent(LayerSize::inner), 8);
}

TEST(GatedRecurrence, KeepsTheNewestInputsAndOneRow) {
  LayerPlan plan;
  plan.n_embd = 12;
  plan.mixer = Mixer::gated_recurrence;
  plan.n_conv_taps = 4;
  plan.recurrence = {.n_columns = 10, .n_heads = 2};
  EXPECT_TRUE(plan.has(Role::recurrence_x) && plan.has(Role::recurrence_out));
  EXPECT_FALSE(plan.has(Role::q));
  EXPECT_EQ(plan.n_convolved_numbers(), 3 * 10);
  EXPECT_EQ(cache_layout(std::vector{plan}).state_bytes(), (30 + 10) * 4);
  EXPECT_EQ(plan.recurrence.head_dim(), 5);
}

}  // namespace
}  // namespace ruv
