// Numbers of GGUF files where they are silent or say too much: what each family then means.
#include "model/hparams.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "format/gguf_writer.h"
#include "format/test_folder.h"
#include "model/model.h"

namespace ruv {
namespace {

// A file of numbers only.
class Numbers {
 public:
  explicit Numbers(std::string architecture) : architecture_(std::move(architecture)) {
    set("block_count", int64_t{4});
    set("embedding_length", int64_t{64});
    set("feed_forward_length", int64_t{96});
    set("attention.head_count", int64_t{4});
    set("context_length", int64_t{4096});
    set("attention.layer_norm_rms_epsilon", 1e-5);
  }
  Numbers& set(std::string_view key, MetaValue value) {
    values_.insert_or_assign(fmt::format("{}.{}", architecture_, key), std::move(value));
    return *this;
  }
  void remove(std::string_view key) { values_.erase(fmt::format("{}.{}", architecture_, key)); }
  Numbers& set_numbers(std::string_view key, std::vector<double> numbers) {
    auto array = std::make_shared<MetaArray>();
    array->numbers = std::move(numbers);
    return set(key, std::shared_ptr<const MetaArray>(array));
  }
  std::unique_ptr<ModelFile> open(const ModelFileOptions& options = {}) const {
    const std::string path = folder_->path() + "/model.gguf";
    auto out = GgufWriter::create(path, {.replace = true});
    EXPECT_TRUE(out);
    out->add_text("general.architecture", architecture_);
    for (const auto& [key, value] : values_) out->add(key, value);
    EXPECT_TRUE(out->begin_tensors().ok());
    EXPECT_TRUE(out->commit().ok());
    auto file = ModelFile::open(path, options);
    EXPECT_TRUE(file) << file.error().message();
    return std::move(*file);
  }
  Numbers& set_integers(std::string_view key, std::vector<int64_t> integers) {
    auto array = std::make_shared<MetaArray>();
    array->integers = std::move(integers);
    return set(key, std::shared_ptr<const MetaArray>(array));
  }
  HParams read() const {
    const auto file = open();
    auto h = read_hparams(*file, *find_family(architecture_));
    EXPECT_TRUE(h) << h.error().message();
    return *h;
  }
  std::vector<LayerPlan> plans() const {
    const auto file = open();
    auto plans = plan_layers(*file, *find_family(architecture_), read(), *rope());
    EXPECT_TRUE(plans) << plans.error().message();
    return *plans;
  }
  Result<RopePlans> rope() const {
    const auto file = open();
    return read_rope(*file, *find_family(architecture_), read());
  }

 private:
  std::string architecture_;
  MetaMap values_;
  std::shared_ptr<TestFolder> folder_ = std::make_shared<TestFolder>();
};

TEST(HParams, Gemma2CapsItsLogitsWhereTheFileIsSilent) {
  const HParams silent = Numbers("gemma2").read();
  EXPECT_EQ(silent.attn_softcap, 50);
  EXPECT_EQ(silent.final_softcap, 30);
  const HParams none = Numbers("gemma2")
                           .set("attn_logit_softcapping", 0.0)
                           .set("final_logit_softcapping", 0.0)
                           .read();
  EXPECT_EQ(none.attn_softcap, 0);
  EXPECT_EQ(none.final_softcap, 0);
  EXPECT_EQ(Numbers("gemma3").read().attn_softcap, 0);
  EXPECT_EQ(Numbers("llama").read().final_softcap, 0);
}

TEST(HParams, The27BModelsScaleQueriesByTheWidthPerHead) {
  const auto scale = [](const char* family, int64_t n_layers) {
    return Numbers(family)
        .set("block_count", n_layers)
        .set("attention.key_length", int64_t{32})
        .read()
        .attn_scale;
  };
  const float by_width = std::sqrt(4.0F / 64.0F);
  const float by_head = 1 / std::sqrt(32.0F);
  EXPECT_EQ(scale("gemma2", 46), by_width);
  EXPECT_EQ(scale("gemma2", 42), by_head);
  EXPECT_EQ(scale("gemma2", 26), by_head);
  EXPECT_EQ(scale("gemma3", 62), by_width);
  EXPECT_EQ(scale("gemma3", 48), by_head);
  EXPECT_EQ(scale("llama", 46), by_head);
  const HParams said = Numbers("gemma2")
                           .set("block_count", int64_t{46})
                           .set("attention.query_pre_attn_scalar", 16.0)
                           .read();
  EXPECT_EQ(said.attn_scale, 0.25F);
}

TEST(HParams, AScaleThatFallsWithTheLayer) {
  const HParams h = Numbers("llama").set("attention.scale_by_inverse_layer_idx", true).read();
  EXPECT_EQ(h.attn_scale_of(0), h.attn_scale);
  EXPECT_EQ(h.attn_scale_of(3), h.attn_scale / 4);
  EXPECT_EQ(Numbers("llama").read().attn_scale_of(3), h.attn_scale);
}

TEST(HParams, APeriodOfWindowedLayersEndsWithOneThatSeesAll) {
  const auto local = [](int64_t period) {
    Numbers numbers("gemma3");
    numbers.set("attention.sliding_window_pattern", period);
    numbers.set("attention.sliding_window", int64_t{8});
    std::vector<bool> windowed;
    for (const LayerPlan& plan : numbers.plans()) windowed.push_back(plan.window == 8);
    return windowed;
  };
  EXPECT_EQ(local(2), (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(local(3), (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(local(1), std::vector<bool>(4, false));
}

// "code: message", or "" where the numbers are read.
std::string refused_experts(const char* family, std::optional<int64_t> count,
                            std::optional<int64_t> used, int64_t width = 8) {
  Numbers numbers(family);
  numbers.set("expert_feed_forward_length", width);
  if (count) numbers.set("expert_count", *count);
  if (used) numbers.set("expert_used_count", *used);
  const auto file = numbers.open();
  const auto h = read_hparams(*file, *find_family(family));
  return h ? "" : fmt::format("{}: {}", code_name(h.error().code()), h.error().message());
}

TEST(HParams, NumbersOfExpertsHaveBounds) {
  EXPECT_EQ(refused_experts("llama", {}, {}), "");
  EXPECT_EQ(refused_experts("llama", 0, {}), "");
  EXPECT_EQ(refused_experts("qwen3moe", 1, 1), "");
  EXPECT_EQ(refused_experts("qwen3moe", 1024, 1024), "");
  const auto expect = [](const std::string& refusal, std::string_view code, std::string_view part) {
    EXPECT_TRUE(refusal.starts_with(code)) << refusal;
    EXPECT_NE(refusal.find(part), std::string::npos) << refusal;
  };
  expect(refused_experts("qwen2", 4, 2), "unsupported", "'qwen2.expert_count'");
  expect(refused_experts("llama", -1, 2), "corrupt", "'llama.expert_count' = -1");
  expect(refused_experts("llama", 1025, 2), "unsupported", "'llama.expert_count' = 1025");
  expect(refused_experts("llama", int64_t{1} << 40, 2), "corrupt", "'llama.expert_count'");
  expect(refused_experts("llama", 4, {}), "not_found", "'llama.expert_used_count'");
  expect(refused_experts("llama", 4, 0), "corrupt", "'llama.expert_used_count' = 0");
  expect(refused_experts("llama", 4, 5), "corrupt", "'llama.expert_used_count' 5 is above");
  expect(refused_experts("llama", 4, 2, 0), "corrupt", "'llama.expert_feed_forward_length' = 0");
}

TEST(HParams, ExpertsAreAsWideAsTheFileSaysAndRenormalised) {
  const HParams usual =
      Numbers("llama").set("expert_count", int64_t{4}).set("expert_used_count", int64_t{2}).read();
  EXPECT_EQ(usual.n_ff_expert, usual.n_ff);
  EXPECT_TRUE(usual.route.normalises);
  EXPECT_EQ(usual.route.score, RouterScore::softmax);
  EXPECT_EQ(usual.route.scale, 1);
  EXPECT_EQ(usual.n_ff_shared, 0);
  EXPECT_EQ(usual.share_of_experts(), 0.5);
  const HParams said = Numbers("qwen3moe")
                           .set("expert_count", int64_t{4})
                           .set("expert_used_count", int64_t{2})
                           .set("expert_feed_forward_length", int64_t{24})
                           .set("expert_weights_norm", false)
                           .read();
  EXPECT_EQ(said.n_ff_expert, 24);
  EXPECT_FALSE(said.route.normalises);
}

// A model of eight experts, of which two are used.
Numbers eight_experts() {
  Numbers numbers("llama");
  return numbers.set("expert_count", int64_t{8}).set("expert_used_count", int64_t{2});
}

TEST(HParams, AFileSaysHowExpertsAreChosenAndWeighted) {
  const RouteParams route = eight_experts()
                                .set("expert_gating_func", int64_t{2})
                                .set("expert_weights_norm", false)
                                .set("expert_weights_scale", 2.5)
                                .set("expert_group_count", int64_t{4})
                                .set("expert_group_used_count", int64_t{2})
                                .read()
                                .route;
  EXPECT_EQ(route.score, RouterScore::sigmoid);
  EXPECT_FALSE(route.normalises);
  EXPECT_EQ(route.scale, 2.5F);
  EXPECT_EQ(route.n_groups, 4);
  EXPECT_EQ(route.n_groups_used, 2);
  // The softmax of the chosen numbers is that of all, normalised.
  const RouteParams chosen = eight_experts()
                                 .set("expert_gating_func", int64_t{3})
                                 .set("expert_weights_norm", false)
                                 .read()
                                 .route;
  EXPECT_EQ(chosen.score, RouterScore::softmax);
  EXPECT_TRUE(chosen.normalises);
}

TEST(HParams, LayersThatPredictFurtherTokensAreNotOfTheModel) {
  EXPECT_EQ(Numbers("glm4moe").set("nextn_predict_layers", int64_t{1}).read().n_ahead, 1);
  EXPECT_EQ(Numbers("glm4moe").set("nextn_predict_layers", int64_t{1}).read().n_layers, 3);
  EXPECT_EQ(Numbers("glm4moe").set("nextn_predict_layers", int64_t{0}).read().n_layers, 4);
  for (const int64_t n : {int64_t{-1}, int64_t{4}, int64_t{1} << 40}) {
    const auto file = Numbers("glm4moe").set("nextn_predict_layers", n).open();
    const auto h = read_hparams(*file, *file->family());
    ASSERT_FALSE(h) << n;
    EXPECT_NE(h.error().message().find("'glm4moe.nextn_predict_layers'"), std::string::npos);
  }
  EXPECT_FALSE(Numbers("llama").set("nextn_predict_layers", int64_t{1}).open()->usable().ok());
}

TEST(HParams, HeadsAreNormalisedWhereTheConfigSaysSo) {
  Numbers numbers("glm4moe");
  EXPECT_FALSE(numbers.plans().front().has(NormRole::q));
  numbers.set("use_qk_norm", true);
  EXPECT_TRUE(numbers.plans().front().has(NormRole::q));
}

TEST(HParams, SparsemixerChoosesTwo) {
  const auto refusal = [](int64_t used) {
    const auto file = Numbers("phimoe")
                          .set("attention.layer_norm_epsilon", 1e-5)
                          .set("expert_count", int64_t{4})
                          .set("expert_used_count", used)
                          .open();
    const auto h = read_hparams(*file, *file->family());
    return h ? std::string() : h.error().message();
  };
  EXPECT_EQ(refusal(2), "");
  EXPECT_NE(refusal(3).find("'phimoe.expert_used_count' = 3"), std::string::npos);
}

TEST(HParams, GroupsOfExpertsMustFit) {
  const auto refusal = [](int64_t n_groups, int64_t n_used) {
    const auto file = eight_experts()
                          .set("expert_group_count", n_groups)
                          .set("expert_group_used_count", n_used)
                          .open();
    const auto h = read_hparams(*file, *file->family());
    return h ? std::string() : h.error().message();
  };
  EXPECT_EQ(refusal(0, 0), "");
  EXPECT_EQ(refusal(8, 2), "");
  EXPECT_NE(refusal(3, 1).find("'llama.expert_group_count' 3 does not divide the 8 experts"),
            std::string::npos);
  EXPECT_NE(refusal(4, 5).find("'llama.expert_group_used_count' 5 is above"), std::string::npos);
  EXPECT_NE(refusal(8, 1).find("'llama.expert_group_used_count' = 1"), std::string::npos);
  EXPECT_NE(refusal(int64_t{1} << 40, 1).find("'llama.expert_group_count'"), std::string::npos);
}

TEST(HParams, SharedExpertsAreAsWideAsTheFileSaysOrAsSoManyOthers) {
  EXPECT_EQ(
      eight_experts().set("expert_shared_feed_forward_length", int64_t{40}).read().n_ff_shared, 40);
  EXPECT_EQ(eight_experts()
                .set("expert_feed_forward_length", int64_t{24})
                .set("expert_shared_count", int64_t{2})
                .read()
                .n_ff_shared,
            48);
  EXPECT_EQ(eight_experts().set("expert_shared_count", int64_t{0}).read().n_ff_shared, 0);
  const auto file = eight_experts().set("expert_shared_count", int64_t{1} << 24).open();
  const auto h = read_hparams(*file, *file->family());
  ASSERT_FALSE(h);
  EXPECT_NE(h.error().message().find("'llama.expert_shared_count'"), std::string::npos);
}

TEST(HParams, LayersHeadsAndTheirWidthHaveBounds) {
  const auto code = [](int64_t n_layers, int64_t n_heads, int64_t head_dim) {
    const auto file = Numbers("llama")
                          .set("block_count", n_layers)
                          .set("attention.head_count", n_heads)
                          .set("attention.key_length", head_dim)
                          .open();
    const auto h = read_hparams(*file, *find_family("llama"));
    return h ? Code::ok : h.error().code();
  };
  EXPECT_EQ(code(4096, 4096, kMaxHeadDim), Code::ok);
  EXPECT_EQ(code(4097, 4096, kMaxHeadDim), Code::corrupt);
  EXPECT_EQ(code(4096, 4097, kMaxHeadDim), Code::corrupt);
  EXPECT_EQ(code(4096, 4096, kMaxHeadDim + 1), Code::corrupt);
}

Numbers longrope() {
  Numbers file("phi3");
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
  const auto plans = Numbers("gemma3").set("attention.sliding_window", int64_t{8}).plans();
  ASSERT_EQ(plans.size(), 4U);
  EXPECT_EQ(plans[0].rope, 1);
  EXPECT_EQ(Numbers("gemma3").plans()[0].rope, 0);  // without a window there is one base
  EXPECT_TRUE(plans[0].has(NormRole::ffn_post));
  EXPECT_TRUE(plans[0].has(NormRole::q));
  const auto scaled = Numbers("llama").set("attention.scale_by_inverse_layer_idx", true).plans();
  EXPECT_EQ(scaled[3].attn_scale, scaled[0].attn_scale / 4);
  EXPECT_FALSE(scaled[0].has(NormRole::attn_post));
  EXPECT_TRUE(scaled[0].has(Role::gate));
}

// What a layer is for follows from its count of key heads.
TEST(LayerPlans, ALayerWithoutKeyHeadsHasAConvolution) {
  Numbers numbers("lfm2");
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
  Numbers numbers("mistral3");
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
  Numbers numbers("llama");
  numbers.set("attention.key_length", int64_t{24}).set("attention.value_length", int64_t{16});
  const LayerPlan plan = numbers.plans()[0];
  EXPECT_EQ(plan.extent(LayerSize::k), 4 * 24);
  EXPECT_EQ(plan.extent(LayerSize::v), 4 * 16);
  EXPECT_EQ(plan.extent(LayerSize::o), 4 * 16);
  EXPECT_EQ(cache_layout(numbers.plans()).layers[0].shape.value_dim, 16);
}

// A file that names no scales means those of the family's only size.
TEST(HParams, MiniCpm3ScalesByDepthAndWidth) {
  Numbers numbers("minicpm3");
  numbers.set("attention.kv_lora_rank", int64_t{8}).set("rope.dimension_count", int64_t{4});
  numbers.set("attention.key_length", int64_t{10});
  HParams h = numbers.read();
  EXPECT_EQ(h.embed_scale, 12.0F);
  EXPECT_FLOAT_EQ(h.residual_scale, 0.7F);
  EXPECT_EQ(h.logit_scale, 4.0F);
  EXPECT_EQ(h.latent.value_dim, 16);
  numbers.set("embedding_scale", 2.0).set("residual_scale", 0.5).set("logit_scale", 0.25);
  h = numbers.read();
  EXPECT_EQ(h.embed_scale, 2.0F);
  EXPECT_EQ(h.residual_scale, 0.5F);
  EXPECT_EQ(h.logit_scale, 0.25F);
}

Numbers indexed() {
  Numbers numbers("glm-dsa");
  numbers.set("attention.q_lora_rank", int64_t{6}).set("attention.kv_lora_rank", int64_t{8});
  numbers.set("rope.dimension_count", int64_t{4}).set("attention.key_length", int64_t{10});
  numbers.set("attention.indexer.head_count", int64_t{3});
  numbers.set("attention.indexer.key_length", int64_t{5});
  numbers.set("attention.indexer.top_k", int64_t{7});
  return numbers;
}

// Keys of indexes follow all layers in the cache, in the order of those that keep one.
TEST(LayerPlans, LayersShareWhatAnIndexHasChosen) {
  Numbers numbers = indexed();
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

TEST(HParams, IndexesHaveBounds) {
  const auto error = [](std::string_view key, int64_t value) {
    const auto file = indexed().set(key, value).open();
    const auto h = read_hparams(*file, *find_family("glm-dsa"));
    return h ? std::string("no error") : h.error().message();
  };
  EXPECT_EQ(indexed().read().index.n_chosen, 7);
  EXPECT_NE(error("attention.indexer.key_length", 3).find("indexer.key_length"), std::string::npos);
  EXPECT_NE(error("attention.indexer.key_length", 1025).find("indexer.key_length"),
            std::string::npos);
  EXPECT_NE(error("attention.indexer.top_k", kMostChosen + 1).find("indexer.top_k"),
            std::string::npos);
  EXPECT_NE(error("attention.indexer.top_k", 0).find("indexer.top_k"), std::string::npos);
  EXPECT_NE(error("context_length", kMaxChoicePosition + 1).find("context_length"),
            std::string::npos);
  EXPECT_NE(error("attention.indexer.head_count", 1025).find("1025"), std::string::npos);
}

TEST(LayerPlans, LayersWithExpertsHaveTheirMatrices) {
  Numbers numbers("qwen3moe");
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

TEST(HParamsKvHeads, CountsByLayerMustFitTheModel) {
  const auto error = [](const char* family, std::vector<int64_t> counts) {
    const auto file = Numbers(family)
                          .set("shortconv.l_cache", int64_t{3})
                          .set_integers("attention.head_count_kv", std::move(counts))
                          .open();
    const auto h = read_hparams(*file, *find_family(family));
    return h ? std::string() : h.error().message();
  };
  EXPECT_EQ(error("llama", {2, 2, 2, 2}), "");
  EXPECT_NE(error("llama", {2, 0, 2, 2}).find("= 0 is out of range"), std::string::npos);
  EXPECT_NE(error("llama", {2, 1, 2, 2}).find("layers with 1 and 2 key heads"), std::string::npos);
  EXPECT_NE(error("lfm2", {2, 0, 1, 0}).find("layers with 1 and 2 key heads"), std::string::npos);
  EXPECT_NE(error("lfm2", {2, -1, 2, 0}).find("= -1 is out of range"), std::string::npos);
  EXPECT_NE(error("lfm2", {2, 0}).find("has 2 numbers for 4 layers"), std::string::npos);
  const auto file = Numbers("lfm2").set("shortconv.l_cache", int64_t{2000}).open();
  EXPECT_EQ(read_hparams(*file, *find_family("lfm2")).error().code(), Code::corrupt);
  const auto silent = Numbers("lfm2").open();
  EXPECT_EQ(read_hparams(*silent, *find_family("lfm2")).error().code(), Code::not_found);
}

TEST(RopePlans, WindowedLayersOfGemma3HaveABaseAndAFactorOfTheirOwn) {
  const auto rope = Numbers("gemma3")
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
  const auto rope = Numbers("llama").rope();
  ASSERT_TRUE(rope) << rope.error().message();
  ASSERT_EQ(rope->plans[0].inv_freq.size(), 8U);
  EXPECT_FLOAT_EQ(rope->plans[0].inv_freq[4], 0.01F);
}

TEST(RopePlans, Llama3StretchesLongWavesOnlyAndRefusesNumbersThatSayNothing) {
  const auto with = [](std::string_view key, double value) {
    return Numbers("llama")
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
  Numbers numbers("llama4");
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
  const auto rope = Numbers("llama").set("rope.scaling.factor", 2.0).rope();
  ASSERT_TRUE(rope) << rope.error().message();
  EXPECT_EQ(rope->plans[0].inv_freq[0], 0.5F);
}

// Heads of 16 turn slower from the second pair on, which does not turn once in 8 positions.
TEST(RopePlans, YarnStretchesAndAmplifies) {
  const auto with = [](std::string_view key, MetaValue value) {
    return Numbers("llama")
        .set("rope.scaling.type", std::string("yarn"))
        .set("rope.scaling.factor", 4.0)
        .set("rope.scaling.original_context_length", int64_t{8})
        .set(key, std::move(value))
        .rope();
  };
  const auto rope = with("rope.scaling.attn_factor", 1.0);
  ASSERT_TRUE(rope) << rope.error().message();
  const RopePlan& plan = rope->plans.at(0);
  const auto plain = Numbers("llama").rope();
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
  const auto novel = Numbers("llama").set("rope.scaling.type", std::string("novel")).rope();
  ASSERT_FALSE(novel);
  EXPECT_EQ(novel.error().code(), Code::unsupported);
  EXPECT_NE(novel.error().message().find("'llama.rope.scaling.type' is 'novel'"),
            std::string::npos);
  const auto factor = Numbers("llama").set("rope.scaling.attn_factor", 1.5).rope();
  ASSERT_FALSE(factor);
  EXPECT_NE(factor.error().message().find("'llama.rope.scaling.attn_factor' is 1.5"),
            std::string::npos);
  EXPECT_TRUE(Numbers("llama").set("rope.scaling.attn_factor", 1.0).rope());
}

TEST(GgufKeys, AnUnknownKeyOfTheArchitectureIsRefusedWithItsValue) {
  const auto usable = [](std::string_view key, MetaValue value) {
    return Numbers("llama").set(key, std::move(value)).open()->usable();
  };
  EXPECT_EQ(usable("attention.temperature_length", int64_t{7}).code(), Code::unsupported);
  EXPECT_NE(usable("attention.temperature_length", int64_t{7})
                .message()
                .find("key 'llama.attention.temperature_length' is 7, which is not supported; "
                      "--ignore-key llama.attention.temperature_length"),
            std::string::npos);
  EXPECT_TRUE(usable("attention.clamp_kqv", 0.0).ok());
  EXPECT_FALSE(usable("attention.clamp_kqv", 8.0).ok());
  EXPECT_TRUE(usable("logit_scale", 1.0).ok());
  EXPECT_FALSE(usable("logit_scale", 0.5).ok());
  EXPECT_FALSE(usable("use_parallel_residual", true).ok());
  EXPECT_TRUE(Numbers("granite").set("logit_scale", 8.0).open()->usable().ok());
  EXPECT_TRUE(Numbers("olmo").set("attention.clamp_kqv", 8.0).open()->usable().ok());
  EXPECT_FALSE(usable("attention.max_alibi_bias", 8.0).ok());
  EXPECT_TRUE(usable("attention.causal", true).ok());
  EXPECT_FALSE(usable("attention.causal", false).ok());
  EXPECT_TRUE(usable("rope.scaling.finetuned", false).ok());
  EXPECT_TRUE(usable("tensor_data_layout", std::string("Meta AI original pth")).ok());
  Numbers other("bart");
  EXPECT_TRUE(other.set("anything", int64_t{1}).open()->usable().ok()) << "no family of ours";
}

TEST(GgufKeys, EveryRefusedKeyIsAFault) {
  Numbers file("llama");
  file.set("novelty", int64_t{1}).set("attention.clamp_kqv", 8.0).set("zeal", 1.0);
  const auto opened = file.open();
  const auto faults = opened->faults().all();
  ASSERT_EQ(faults.size(), 3U);
  EXPECT_NE(faults[0].message().find("'llama.attention.clamp_kqv'"), std::string::npos);
  EXPECT_NE(faults[1].message().find("'llama.novelty'"), std::string::npos);
  EXPECT_NE(faults[2].message().find("'llama.zeal'"), std::string::npos);
  EXPECT_EQ(opened->usable().message(), faults[0].message());
}

TEST(GgufKeys, AnIgnoredKeyIsAbsent) {
  Numbers file("llama");
  file.set("attention.clamp_kqv", 8.0);
  const auto opened = file.open({{"llama.attention.clamp_kqv", "llama.absent"}});
  EXPECT_TRUE(opened->usable().ok());
  EXPECT_EQ(opened->find("attention.clamp_kqv"), nullptr);
  ASSERT_EQ(opened->ignored_keys().size(), 1U);
  EXPECT_EQ(opened->ignored_keys()[0], "llama.attention.clamp_kqv");
}

TEST(HParams, TheEpsilonOfNormsMayHaveTheNameOfTheOtherKind) {
  Numbers rms = Numbers("llama").set("attention.layer_norm_epsilon", 1e-3);
  EXPECT_FLOAT_EQ(rms.read().norm_eps, 1e-5F);
  rms.remove("attention.layer_norm_rms_epsilon");
  EXPECT_FLOAT_EQ(rms.read().norm_eps, 1e-3F);
  Numbers layer("starcoder2");
  EXPECT_FLOAT_EQ(layer.read().norm_eps, 1e-5F);
  EXPECT_FLOAT_EQ(layer.set("attention.layer_norm_epsilon", 1e-3).read().norm_eps, 1e-3F);
}

TEST(HParams, NumbersThatAreNotFiniteAreRefused) {
  const double nan = std::nan("");
  const double huge = 1e300;  // not a float32
  for (const auto& [key, value] :
       {std::pair("attn_logit_softcapping", nan), std::pair("final_logit_softcapping", huge),
        std::pair("attention.layer_norm_rms_epsilon", nan),
        std::pair("attention.layer_norm_rms_epsilon", -1e-5),
        std::pair("attention.query_pre_attn_scalar", huge), std::pair("attention.scale", nan)}) {
    const auto file = Numbers("gemma2").set(key, value).open();
    const auto h = read_hparams(*file, *find_family("gemma2"));
    ASSERT_FALSE(h) << key;
    EXPECT_EQ(h.error().code(), Code::corrupt);
    EXPECT_NE(h.error().message().find(key), std::string::npos) << h.error().message();
  }
}

// Layers 0, 1, 3 and 4 have a window; 3 to 5 read what earlier ones keep.
Numbers unlike_layers() {
  Numbers file("gemma4");
  auto pattern = std::make_shared<MetaArray>();
  pattern->bools = {true, true, false, true, true, false};
  file.set("block_count", int64_t{6})
      .set("attention.sliding_window_pattern", std::shared_ptr<const MetaArray>(pattern))
      .set("attention.sliding_window", int64_t{8})
      .set("attention.key_length", int64_t{32})
      .set("attention.key_length_swa", int64_t{16})
      .set("attention.shared_kv_layers", int64_t{3})
      .set("embedding_length_per_layer_input", int64_t{5})
      .set_integers("attention.head_count_kv", {2, 2, 1, 2, 2, 1})
      .set_integers("feed_forward_length", {96, 96, 96, 192, 192, 192});
  return file;
}

TEST(HParamsUnlikeLayers, LayersHaveHeadsAndWidthsOfTheirOwn) {
  const std::vector<LayerPlan> plans = unlike_layers().plans();
  ASSERT_EQ(plans.size(), 6U);
  const LayerPlan& local = plans[0];
  const LayerPlan& full = plans[2];
  EXPECT_EQ(local.head_dim, 16);
  EXPECT_EQ(local.value_dim, 16);
  EXPECT_EQ(local.n_kv_heads, 2);
  EXPECT_EQ(local.window, 8);
  EXPECT_FALSE(local.values_are_keys) << "only layers without a window may";
  EXPECT_EQ(full.head_dim, 32);
  EXPECT_EQ(full.n_kv_heads, 1);
  EXPECT_EQ(full.window, 0);
  EXPECT_TRUE(full.values_are_keys) << "the file has no matrix of values";
  EXPECT_FALSE(full.has(Role::v));
  EXPECT_TRUE(full.has(NormRole::v));
  EXPECT_EQ(full.attn_scale, 1.0F);
  EXPECT_EQ(full.n_input, 5);
  EXPECT_EQ(local.n_ff, 96);
  EXPECT_EQ(plans[5].n_ff, 192);
}

TEST(HParamsUnlikeLayers, LayersThatShareKeepNothing) {
  const std::vector<LayerPlan> plans = unlike_layers().plans();
  const std::vector<int64_t> from = {-1, -1, -1, 1, 1, 2};
  for (size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(plans[i].kv_layer, from[i]) << i;
    EXPECT_EQ(plans[i].has(Role::k), from[i] < 0) << i;
    EXPECT_EQ(plans[i].has(NormRole::k), from[i] < 0) << i;
    EXPECT_TRUE(plans[i].has(Role::q)) << i;
  }
  const CacheLayout layout = cache_layout(plans);
  for (size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(layout.layers[i].shape.has_tokens(), from[i] < 0) << i;
  }
  EXPECT_EQ(layout.bytes_per_token(), 2 * 2 * (2 * 16 + 2 * 16 + 32));
}

TEST(HParamsUnlikeLayers, SharingNeedsALayerOfTheKind) {
  for (const int64_t n : {4, 5, 6, -1}) {
    Numbers file = unlike_layers();
    file.set("attention.shared_kv_layers", n);
    const auto opened = file.open();
    const auto h = read_hparams(*opened, *find_family("gemma4"));
    const auto plans = !h ? tl::unexpected(h.error())
                          : plan_layers(*opened, *find_family("gemma4"), *h, RopePlans());
    ASSERT_FALSE(plans) << n;
    EXPECT_EQ(plans.error().code(), Code::corrupt);
    EXPECT_NE(plans.error().message().find("attention.shared_kv_layers"), std::string::npos);
  }
}

TEST(HParamsUnlikeLayers, ValuesAreAsWideAsKeys) {
  Numbers file = unlike_layers();
  file.set("attention.value_length_swa", int64_t{8});
  const auto opened = file.open();
  const auto h = read_hparams(*opened, *find_family("gemma4"));
  ASSERT_FALSE(h);
  EXPECT_EQ(h.error().code(), Code::unsupported);
  EXPECT_NE(h.error().message().find("attention.value_length_swa"), std::string::npos);
}

TEST(HParams, LayersMayDifferInHeadsAndWidths) {
  Numbers file("openelm");
  file.set_integers("attention.head_count", {4, 6, 2, 8})
      .set_integers("attention.head_count_kv", {2, 3, 2, 1})
      .set_integers("feed_forward_length", {32, 48, 16, 96})
      .set("attention.key_length", int64_t{16});
  const HParams h = file.read();
  EXPECT_EQ(h.n_heads, 8);
  EXPECT_EQ(h.n_kv_heads, 3);
  const std::vector<LayerPlan> plans = file.plans();
  EXPECT_EQ(plans[1].n_heads, 6);
  EXPECT_EQ(plans[1].n_kv_heads, 3);
  EXPECT_EQ(plans[1].n_ff, 48);
  EXPECT_EQ(plans[3].extent(LayerSize::q), 8 * 16);
  const CacheLayout layout = cache_layout(plans);
  EXPECT_EQ(layout.layers[1].shape.n_heads, 3);
  EXPECT_EQ(layout.layers[3].shape.n_heads, 1);
  for (const auto& [key, wrong] :
       {std::pair("attention.head_count", std::vector<int64_t>{4, 6, 2}),
        std::pair("attention.head_count", std::vector<int64_t>{4, 5, 2, 8}),
        std::pair("attention.head_count_kv", std::vector<int64_t>{2, 0, 2, 1}),
        std::pair("feed_forward_length", std::vector<int64_t>{32, 48, 0, 96})}) {
    Numbers other = file;
    const auto opened = other.set_integers(key, wrong).open();
    const auto read = read_hparams(*opened, *find_family("openelm"));
    ASSERT_FALSE(read) << key;
    EXPECT_NE(read.error().message().find(key), std::string::npos) << read.error().message();
  }
}

}  // namespace
}  // namespace ruv
