// What GGUF files say of positions and of single layers: what each family then plans.
#include "model/layer_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "model/test_numbers_file.h"

namespace ruv {
namespace {

NumbersFile longrope() {
  NumbersFile file("phi3");
  file.set("rope.scaling.original_context_length", int64_t{1024})
      .set("rope.dimension_count", int64_t{4})
      .set_numbers("rope.scaling.short_factor", {1, 1.5})
      .set_numbers("rope.scaling.long_factor", {2, 4});
  return file;
}

TEST(RopePlans, LongRopeWithoutAttentionFactorFollowsTheLengths) {
  const auto rope = longrope().rope();
  ASSERT_TRUE(rope) << rope.error().message();
  // 4096 positions of 1024.
  EXPECT_FLOAT_EQ(rope->plans[0].magnitude,
                  static_cast<float>(std::sqrt(1 + std::log(4.0) / std::log(1024.0))));
  EXPECT_EQ(rope->extended[0].magnitude, rope->plans[0].magnitude);
  EXPECT_EQ(longrope().set("rope.scaling.attn_factor", 1.25).rope()->plans[0].magnitude, 1.25F);
  EXPECT_FLOAT_EQ(longrope().set("context_length", int64_t{1536}).rope()->plans[0].magnitude,
                  static_cast<float>(std::sqrt(1 + std::log(1.5) / std::log(1024.0))));
  EXPECT_EQ(longrope().set("context_length", int64_t{1024}).rope()->plans[0].magnitude, 1.0F);
  EXPECT_EQ(longrope().set("context_length", int64_t{512}).rope()->plans[0].magnitude, 1.0F);
}

TEST(RopePlans, WindowedLayersTakeTheLongFactorsToo) {
  const auto plans = longrope().set("attention.sliding_window", int64_t{8}).plans();
  ASSERT_EQ(plans[0].window, 8);
  EXPECT_EQ(plans[0].rope, 0);
  const RopePlans rope = *longrope().rope();
  EXPECT_EQ(rope.for_context(1024).data(), rope.plans.data());
  EXPECT_EQ(rope.for_context(1025).data(), rope.extended.data());
}

TEST(LayerPlans, TablesHaveOneRowForEachRoleInOrder) {
  ASSERT_EQ(role_rows().size(), kRoles);
  ASSERT_EQ(norm_rows().size(), kNormRoles);
  for (size_t i = 0; i < kRoles; ++i) EXPECT_EQ(role_rows()[i].role, static_cast<Role>(i));
  for (size_t i = 0; i < kNormRoles; ++i) EXPECT_EQ(norm_rows()[i].role, static_cast<NormRole>(i));
}

TEST(LayerPlans, LayersDifferWhereTheFileOrTheFamilySaysIt) {
  const auto plans = NumbersFile("gemma3").set("attention.sliding_window", int64_t{8}).plans();
  ASSERT_EQ(plans.size(), 4U);
  EXPECT_EQ(plans[0].rope, 1);
  EXPECT_EQ(NumbersFile("gemma3").plans()[0].rope, 0);  // without a window there is one base
  EXPECT_TRUE(plans[0].has(NormRole::ffn_post));
  EXPECT_TRUE(plans[0].has(NormRole::q));
  const auto scaled =
      NumbersFile("llama").set("attention.scale_by_inverse_layer_idx", true).plans();
  EXPECT_EQ(scaled[3].attn_scale, scaled[0].attn_scale / 4);
  EXPECT_FALSE(scaled[0].has(NormRole::attn_post));
  EXPECT_TRUE(scaled[0].has(Role::gate));
}

// What a layer is for follows from its count of key heads.
TEST(LayerPlans, ALayerWithoutKeyHeadsHasAConvolution) {
  NumbersFile numbers("lfm2");
  numbers.set("shortconv.l_cache", int64_t{3});
  numbers.set_integers("attention.head_count_kv", {0, 2, 0, 2});
  const HParams h = numbers.read();
  EXPECT_EQ(h.n_kv_heads, 2);
  auto plans = numbers.plans();
  EXPECT_TRUE(plans[0].has(Role::conv_in) && plans[0].has(Role::conv_out));
  EXPECT_FALSE(plans[0].has(Role::q) || plans[0].has(Role::o) || plans[0].has(NormRole::k));
  EXPECT_EQ(plans[0].extent(LayerSize::conv), 3 * 64);
  EXPECT_FALSE(plans[1].has(Role::conv_in) || plans[1].has(Role::conv_out));
  EXPECT_TRUE(plans[1].has(Role::k) && plans[1].has(NormRole::q) && plans[0].has(NormRole::attn));
  const CacheLayout layout = cache_layout(plans);
  EXPECT_EQ(layout.layers[0].shape, KvShape{.state_bytes = 2 * 64 * 4});
  EXPECT_EQ(layout.layers[1].shape.n_heads, 2);
  EXPECT_EQ(layout.layers[1].shape.state_bytes, 0);
  plans[1].n_conv_taps = 4;  // a layer may have both
  EXPECT_EQ(cache_layout(plans).layers[1].shape.tokens(), layout.layers[1].shape);
  EXPECT_EQ(cache_layout(plans).state_bytes(), (3 + 2 + 2) * 64 * 4);
  numbers.set_integers("attention.head_count_kv", {0, 0, 0, 0});
  EXPECT_EQ(numbers.read().n_kv_heads, 4);
  EXPECT_EQ(cache_layout(numbers.plans()).page_bytes(), 0);
}

// Without a span of its own it is the context that positions were made for.
TEST(LayerPlans, QueriesGrowWhereTheFileGivesASlope) {
  NumbersFile numbers("mistral3");
  EXPECT_EQ(numbers.plans()[0].query_scale, PositionScale());
  numbers.set("attention.temperature_scale", 0.25);
  numbers.set("rope.scaling.original_context_length", int64_t{64});
  EXPECT_EQ(numbers.plans()[3].query_scale, (PositionScale{0.25F, 64, 0}));
  numbers.set("attention.temperature_length", int64_t{32});
  EXPECT_EQ(numbers.plans()[0].query_scale, (PositionScale{0.25F, 32, 0}));
  numbers.set("attention.temperature_length", int64_t{0});
  const auto file = numbers.open();
  const FamilyRecord& family = *find_family("mistral3");
  const auto plans = plan_layers(*file, family, numbers.read(), {});
  ASSERT_FALSE(plans.has_value());
  EXPECT_NE(plans.error().message().find("'mistral3.attention.temperature_length' = 0"),
            std::string::npos);
}

TEST(LayerPlans, ValuesMayBeNarrowerThanKeys) {
  NumbersFile numbers("llama");
  numbers.set("attention.key_length", int64_t{24}).set("attention.value_length", int64_t{16});
  const LayerPlan plan = numbers.plans()[0];
  EXPECT_EQ(plan.extent(LayerSize::k), 4 * 24);
  EXPECT_EQ(plan.extent(LayerSize::v), 4 * 16);
  EXPECT_EQ(plan.extent(LayerSize::o), 4 * 16);
  EXPECT_EQ(cache_layout(numbers.plans()).layers[0].shape.value_dim, 16);
}

// Keys of indexes follow all layers in the cache, in the order of those that keep one.
TEST(LayerPlans, LayersShareWhatAnIndexHasChosen) {
  NumbersFile numbers = indexed();
  // Files without a list share where the index has no tensors; this one has none at all.
  const std::vector<LayerPlan> silent = numbers.plans();
  EXPECT_TRUE(silent[0].index.is_own());
  for (size_t i = 1; i < silent.size(); ++i) EXPECT_TRUE(silent[i].index.is_shared) << i;
  auto shared = std::make_shared<MetaArray>();
  shared->bools = {false, true, false, true};
  numbers.set("attention.indexer.shared_layers", std::shared_ptr<const MetaArray>(shared));
  const std::vector<LayerPlan> plans = numbers.plans();
  EXPECT_TRUE(plans[0].index.is_own());
  EXPECT_TRUE(plans[1].index.exists());
  EXPECT_FALSE(plans[1].index.is_own());
  EXPECT_EQ(plans[0].n_matrices(Role::index_q), 1);
  EXPECT_EQ(plans[1].n_matrices(Role::index_q), 0);
  EXPECT_TRUE(plans[0].has(NormRole::index_k));
  EXPECT_FALSE(plans[1].has(NormRole::index_k));
  EXPECT_EQ(plans[0].extent(LayerSize::index_q), 15);
  EXPECT_EQ(index_layer(plans, 0), 4);
  EXPECT_EQ(index_layer(plans, 2), 5);
  const CacheLayout layout = cache_layout(plans);
  ASSERT_EQ(layout.layers.size(), 6U);
  EXPECT_EQ(layout.layers[4].shape, (KvShape{1, 5, 0}));
  shared->bools.front() = true;
  const auto file = numbers.open();
  const auto wrong = plan_layers(*file, *find_family("glm-dsa"), numbers.read(), *numbers.rope());
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("indexer.shared_layers"), std::string::npos);
}

TEST(LayerPlans, LayersWithExpertsHaveTheirMatrices) {
  NumbersFile numbers("qwen3moe");
  numbers.set("expert_count", int64_t{5}).set("expert_used_count", int64_t{3});
  numbers.set("expert_feed_forward_length", int64_t{24});
  auto layers = std::make_shared<MetaArray>();
  layers->bools = {true, false, false, true};
  numbers.set("expert_layers", std::shared_ptr<const MetaArray>(layers));
  const auto plans = numbers.plans();
  EXPECT_EQ(plans[0].n_matrices(Role::expert_up), 5);
  EXPECT_EQ(plans[0].n_matrices_used(Role::expert_up), 3);
  EXPECT_EQ(plans[0].n_matrices_used(Role::router), 1);
  EXPECT_EQ(plans[0].extent(LayerSize::ff), 24);
  EXPECT_FALSE(plans[0].has(Role::up) || plans[0].has(Role::gate) || plans[0].has(Role::down));
  EXPECT_EQ(plans[1].extent(LayerSize::ff), 96);
  EXPECT_TRUE(plans[1].has(Role::up) && plans[1].has(Role::gate) && plans[3].has(Role::router));
  EXPECT_FALSE(plans[1].has(Role::router) || plans[1].has(Role::expert_down));
  EXPECT_FALSE(plans[0].has(Role::shared_up) || plans[0].has(Role::shared_router));
  numbers.set("expert_shared_feed_forward_length", int64_t{40});
  const auto sharing = numbers.plans();
  EXPECT_TRUE(sharing[0].has(Role::shared_up) && sharing[0].has(Role::shared_down));
  EXPECT_EQ(sharing[0].extent(LayerSize::shared_ff), 40);
  EXPECT_FALSE(sharing[0].has(Role::shared_router) || sharing[1].has(Role::shared_up));
}

TEST(RopePlans, WindowedLayersOfGemma3HaveABaseAndAFactorOfTheirOwn) {
  const auto rope = NumbersFile("gemma3")
                        .set("rope.freq_base", 1e6)
                        .set("rope.scaling.type", std::string("linear"))
                        .set("rope.scaling.factor", 8.0)
                        .set("rope.freq_base_swa", 1e4)
                        .set("rope.scaling.factor_swa", 4.0)
                        .rope();
  ASSERT_TRUE(rope) << rope.error().message();
  EXPECT_EQ(rope->plans[0].inv_freq[0], 0.125F);
  EXPECT_EQ(rope->plans[1].inv_freq[0], 0.25F);
  EXPECT_NEAR(rope->plans[1].inv_freq[4], 0.25 * std::pow(1e4, -0.5), 1e-8);
}

TEST(RopePlans, TheBaseIs10000WhereTheFileIsSilent) {
  const auto rope = NumbersFile("llama").rope();
  ASSERT_TRUE(rope) << rope.error().message();
  ASSERT_EQ(rope->plans[0].inv_freq.size(), 8U);
  EXPECT_FLOAT_EQ(rope->plans[0].inv_freq[4], 0.01F);
}

TEST(RopePlans, Llama3StretchesLongWavesOnlyAndRefusesNumbersThatSayNothing) {
  const auto with = [](std::string_view key, double value) {
    return NumbersFile("llama")
        .set("rope.scaling.type", std::string("llama3"))
        .set("rope.scaling.factor", 8.0)
        .set("rope.scaling.low_freq_factor", 1.0)
        .set("rope.scaling.high_freq_factor", 4.0)
        .set("rope.scaling.original_context_length", 100.0)
        .set(key, value)
        .rope();
  };
  const auto rope = with("rope.scaling.factor", 8.0);
  ASSERT_TRUE(rope) << rope.error().message();
  // The waves have 6, 20, 63, 199 … positions: two below 100 / 4, one between, others above 100.
  EXPECT_EQ(rope->plans[0].inv_freq[0], 1);
  const double frequency = std::pow(10000, -0.25);
  const double share = (100 * frequency / (2 * std::numbers::pi) - 1) / (4 - 1);
  EXPECT_NEAR(rope->plans[0].inv_freq[2], frequency * (share + (1 - share) / 8), 1e-7);
  EXPECT_NEAR(rope->plans[0].inv_freq[4], 0.01 / 8, 1e-9);
  for (const auto& [key, value] : std::vector<std::pair<std::string_view, double>>{
           {"rope.scaling.factor", 0},
           {"rope.scaling.low_freq_factor", 0},
           {"rope.scaling.high_freq_factor", 1},
           {"rope.scaling.original_context_length", 0}}) {
    const auto refused = with(key, value);
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().code(), Code::corrupt) << key;
  }
}

// Chunks of 8192 in three of four layers, and in the fourth queries that grow and neither positions
// nor norms; a shared expert as wide as the others. The size with 128 experts has no norms.
TEST(LayerPlans, GgufFilesOfLlama4LeaveMuchUnsaid) {
  NumbersFile numbers("llama4");
  numbers.set("expert_count", int64_t{16}).set("expert_used_count", int64_t{1});
  numbers.set("expert_feed_forward_length", int64_t{32});
  EXPECT_EQ(numbers.read().n_ff_shared, 32);
  std::vector<LayerPlan> plans = numbers.plans();
  EXPECT_EQ(plans[0].window, 8192);
  EXPECT_TRUE(plans[0].chunked);
  EXPECT_EQ(plans[0].qk_norm, QkNorm::heads);
  EXPECT_EQ(plans[0].rope, 0);
  EXPECT_EQ(plans[0].query_scale, PositionScale());
  EXPECT_EQ(plans[3].window, 0);
  EXPECT_EQ(plans[3].qk_norm, QkNorm::none);
  EXPECT_EQ(plans[3].rope, -1);
  EXPECT_EQ(plans[3].query_scale, (PositionScale{.slope = 0.1F, .span = 8192, .offset = 1}));
  numbers.set("expert_count", int64_t{128});
  EXPECT_EQ(numbers.plans()[0].qk_norm, QkNorm::none);
  numbers.set("attention.sliding_window", int64_t{0});
  plans = numbers.plans();
  EXPECT_EQ(plans[0].window, 0);
  EXPECT_EQ(plans[3].rope, 0);
  EXPECT_EQ(plans[3].query_scale.slope, 0);
}

TEST(RopePlans, AFactorWithoutATypeMeansLinear) {
  const auto rope = NumbersFile("llama").set("rope.scaling.factor", 2.0).rope();
  ASSERT_TRUE(rope) << rope.error().message();
  EXPECT_EQ(rope->plans[0].inv_freq[0], 0.5F);
}

// Heads of 16 turn slower from the second pair on, which does not turn once in 8 positions.
TEST(RopePlans, YarnStretchesAndAmplifies) {
  const auto with = [](std::string_view key, MetaValue value) {
    return NumbersFile("llama")
        .set("rope.scaling.type", std::string("yarn"))
        .set("rope.scaling.factor", 4.0)
        .set("rope.scaling.original_context_length", int64_t{8})
        .set(key, std::move(value))
        .rope();
  };
  const auto rope = with("rope.scaling.attn_factor", 1.0);
  ASSERT_TRUE(rope) << rope.error().message();
  const RopePlan& plan = rope->plans.at(0);
  const auto plain = NumbersFile("llama").rope();
  EXPECT_EQ(plan.inv_freq[0], 1.0F);
  EXPECT_EQ(plan.inv_freq[2], plain->plans.at(0).inv_freq[2] / 4);
  EXPECT_FLOAT_EQ(plan.magnitude, 1 + 0.1F * std::log(4.0F));
  EXPECT_EQ(with("rope.scaling.attn_factor", 2.0)->plans.at(0).magnitude, 2 * plan.magnitude);
  EXPECT_EQ(with("rope.scaling.yarn_log_multiplier", 1.0)->plans.at(0).magnitude, 1.0F);
  for (const auto& [key, value] : std::vector<std::pair<std::string, MetaValue>>{
           {"rope.scaling.factor", 0.0},
           {"rope.scaling.original_context_length", int64_t{0}},
           {"rope.scaling.yarn_beta_fast", 0.0},
           {"rope.scaling.yarn_beta_slow", -1.0},
           {"rope.scaling.yarn_truncate", 1.0},
           {"rope.freq_base", 1.0}}) {
    const auto refused = with(key, value);
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().code(), Code::corrupt) << key;
  }
}

TEST(RopePlans, WhatIsNotComputedIsRefusedByName) {
  const auto novel = NumbersFile("llama").set("rope.scaling.type", std::string("novel")).rope();
  ASSERT_FALSE(novel);
  EXPECT_EQ(novel.error().code(), Code::unsupported);
  EXPECT_NE(novel.error().message().find("'llama.rope.scaling.type' is 'novel'"),
            std::string::npos);
  const auto factor = NumbersFile("llama").set("rope.scaling.attn_factor", 1.5).rope();
  ASSERT_FALSE(factor);
  EXPECT_NE(factor.error().message().find("'llama.rope.scaling.attn_factor' is 1.5"),
            std::string::npos);
  EXPECT_TRUE(NumbersFile("llama").set("rope.scaling.attn_factor", 1.0).rope());
}

}  // namespace
}  // namespace ruv
