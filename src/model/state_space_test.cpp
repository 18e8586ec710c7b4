// What a layer with a selective scan keeps, and which matrices it has.
#include "model/state_space.h"

#include <gtest/gtest.h>

#include "model/layer_plan.h"

namespace ruv {
namespace {

LayerPlan by_column() {
  LayerPlan plan;
  plan.n_embd = 12;
  plan.mixer = Mixer::state_space;
  plan.feed_forward = FeedForward::none;
  plan.n_conv_taps = 4;
  plan.state_space = {.kind = StateSpace::columns, .n_inner = 20, .n_state = 3, .n_steps = 2};
  return plan;
}

LayerPlan by_head() {
  LayerPlan plan = by_column();
  plan.state_space = {
      .kind = StateSpace::heads, .n_inner = 20, .n_state = 3, .n_groups = 2, .n_steps = 4};
  return plan;
}

TEST(StateSpace, KeepsTheNewestInputsAndAMatrix) {
  EXPECT_EQ(by_column().n_convolved_numbers(), 3 * 20);
  EXPECT_EQ(by_head().n_convolved_numbers(), 3 * (20 + 2 * 2 * 3));
  for (const LayerPlan& plan : {by_column(), by_head()}) {
    const CacheLayout layout = cache_layout(std::vector{plan});
    EXPECT_EQ(layout.state_bytes(), (plan.n_convolved_numbers() + 20 * 3) * 4);
    EXPECT_EQ(layout.page_bytes(), 0);
  }
  EXPECT_EQ(by_head().state_space.head_dim(), 5);
}

TEST(StateSpace, BesideAttentionALayerKeepsBoth) {
  LayerPlan plan = by_head();
  plan.mixer = Mixer::attention;
  plan.feed_forward = FeedForward::gated;
  plan.n_heads = plan.n_kv_heads = 1;
  plan.head_dim = plan.value_dim = 8;
  EXPECT_TRUE(plan.has(Role::q) && plan.has(Role::state_x) && plan.has(NormRole::ffn));
  const CacheLayout layout = cache_layout(std::vector{plan});
  EXPECT_GT(layout.page_bytes(), 0);
  EXPECT_EQ(layout.state_bytes(), cache_layout(std::vector{by_head()}).state_bytes());
}

TEST(StateSpace, GenerationsDifferInTheirMatrices) {
  const LayerPlan columns = by_column();
  const LayerPlan heads = by_head();
  for (const LayerPlan& plan : {columns, heads}) {
    EXPECT_TRUE(plan.has(Role::state_z) && plan.has(Role::state_x) && plan.has(Role::state_out));
    EXPECT_FALSE(plan.has(Role::q) || plan.has(Role::up) || plan.has(NormRole::ffn));
  }
  EXPECT_TRUE(columns.has(Role::state_low) && columns.has(Role::state_up));
  EXPECT_FALSE(columns.has(Role::state_steps));
  EXPECT_TRUE(heads.has(Role::state_steps));
  EXPECT_FALSE(heads.has(Role::state_b) || heads.has(Role::state_low));
  EXPECT_EQ(heads.extent(LayerSize::conv), 32);
  EXPECT_EQ(columns.extent(LayerSize::steps), 2);
}

TEST(StateSpace, AFeedForwardAloneHasOneNorm) {
  LayerPlan plan;
  plan.n_embd = 12;
  plan.mixer = Mixer::none;
  plan.feed_forward = FeedForward::dense;
  EXPECT_TRUE(plan.has(Role::up) && plan.has(NormRole::attn));
  EXPECT_FALSE(plan.has(Role::q) || plan.has(Role::state_x) || plan.has(NormRole::ffn));
  EXPECT_EQ(cache_layout(std::vector{plan}).state_bytes(), 0);
}

}  // namespace
}  // namespace ruv
