// NumbersFile of GGUF files where they are silent or say too much: what each family then means.
#include "model/hparams.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/test_numbers_file.h"

namespace ruv {
namespace {

TEST(HParams, Gemma2CapsItsLogitsWhereTheFileIsSilent) {
  const HParams silent = NumbersFile("gemma2").read();
  EXPECT_EQ(silent.attn_softcap, 50);
  EXPECT_EQ(silent.final_softcap, 30);
  const HParams none = NumbersFile("gemma2")
                           .set("attn_logit_softcapping", 0.0)
                           .set("final_logit_softcapping", 0.0)
                           .read();
  EXPECT_EQ(none.attn_softcap, 0);
  EXPECT_EQ(none.final_softcap, 0);
  EXPECT_EQ(NumbersFile("gemma3").read().attn_softcap, 0);
  EXPECT_EQ(NumbersFile("llama").read().final_softcap, 0);
}

TEST(HParams, The27BModelsScaleQueriesByTheWidthPerHead) {
  const auto scale = [](const char* family, int64_t n_layers) {
    return NumbersFile(family)
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
  const HParams said = NumbersFile("gemma2")
                           .set("block_count", int64_t{46})
                           .set("attention.query_pre_attn_scalar", 16.0)
                           .read();
  EXPECT_EQ(said.attn_scale, 0.25F);
}

TEST(HParams, AScaleThatFallsWithTheLayer) {
  const HParams h = NumbersFile("llama").set("attention.scale_by_inverse_layer_idx", true).read();
  EXPECT_EQ(h.attn_scale_of(0), h.attn_scale);
  EXPECT_EQ(h.attn_scale_of(3), h.attn_scale / 4);
  EXPECT_EQ(NumbersFile("llama").read().attn_scale_of(3), h.attn_scale);
}

TEST(HParams, APeriodOfWindowedLayersEndsWithOneThatSeesAll) {
  const auto local = [](int64_t period) {
    NumbersFile numbers("gemma3");
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
  NumbersFile numbers(family);
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
  const HParams usual = NumbersFile("llama")
                            .set("expert_count", int64_t{4})
                            .set("expert_used_count", int64_t{2})
                            .read();
  EXPECT_EQ(usual.n_ff_expert, usual.n_ff);
  EXPECT_TRUE(usual.route.normalises);
  EXPECT_EQ(usual.route.score, RouterScore::softmax);
  EXPECT_EQ(usual.route.scale, 1);
  EXPECT_EQ(usual.n_ff_shared, 0);
  EXPECT_EQ(usual.share_of_experts(), 0.5);
  const HParams said = NumbersFile("qwen3moe")
                           .set("expert_count", int64_t{4})
                           .set("expert_used_count", int64_t{2})
                           .set("expert_feed_forward_length", int64_t{24})
                           .set("expert_weights_norm", false)
                           .read();
  EXPECT_EQ(said.n_ff_expert, 24);
  EXPECT_FALSE(said.route.normalises);
}

// A model of eight experts, of which two are used.
NumbersFile eight_experts() {
  NumbersFile numbers("llama");
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
  EXPECT_EQ(NumbersFile("glm4moe").set("nextn_predict_layers", int64_t{1}).read().n_ahead, 1);
  EXPECT_EQ(NumbersFile("glm4moe").set("nextn_predict_layers", int64_t{1}).read().n_layers, 3);
  EXPECT_EQ(NumbersFile("glm4moe").set("nextn_predict_layers", int64_t{0}).read().n_layers, 4);
  for (const int64_t n : {int64_t{-1}, int64_t{4}, int64_t{1} << 40}) {
    const auto file = NumbersFile("glm4moe").set("nextn_predict_layers", n).open();
    const auto h = read_hparams(*file, *file->family());
    ASSERT_FALSE(h) << n;
    EXPECT_NE(h.error().message().find("'glm4moe.nextn_predict_layers'"), std::string::npos);
  }
  EXPECT_FALSE(NumbersFile("llama").set("nextn_predict_layers", int64_t{1}).open()->usable().ok());
}

TEST(HParams, HeadsAreNormalisedWhereTheConfigSaysSo) {
  NumbersFile numbers("glm4moe");
  EXPECT_FALSE(numbers.plans().front().has(NormRole::q));
  numbers.set("use_qk_norm", true);
  EXPECT_TRUE(numbers.plans().front().has(NormRole::q));
}

TEST(HParams, SparsemixerChoosesTwo) {
  const auto refusal = [](int64_t used) {
    const auto file = NumbersFile("phimoe")
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
    const auto file = NumbersFile("llama")
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

// A file that names no scales means those of the family's only size.
TEST(HParams, MiniCpm3ScalesByDepthAndWidth) {
  NumbersFile numbers("minicpm3");
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

TEST(HParamsKvHeads, CountsByLayerMustFitTheModel) {
  const auto error = [](const char* family, std::vector<int64_t> counts) {
    const auto file = NumbersFile(family)
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
  const auto file = NumbersFile("lfm2").set("shortconv.l_cache", int64_t{2000}).open();
  EXPECT_EQ(read_hparams(*file, *find_family("lfm2")).error().code(), Code::corrupt);
  const auto silent = NumbersFile("lfm2").open();
  EXPECT_EQ(read_hparams(*silent, *find_family("lfm2")).error().code(), Code::not_found);
}

TEST(GgufKeys, AnUnknownKeyOfTheArchitectureIsRefusedWithItsValue) {
  const auto usable = [](std::string_view key, MetaValue value) {
    return NumbersFile("llama").set(key, std::move(value)).open()->usable();
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
  EXPECT_TRUE(NumbersFile("granite").set("logit_scale", 8.0).open()->usable().ok());
  EXPECT_TRUE(NumbersFile("olmo").set("attention.clamp_kqv", 8.0).open()->usable().ok());
  EXPECT_FALSE(usable("attention.max_alibi_bias", 8.0).ok());
  EXPECT_TRUE(usable("attention.causal", true).ok());
  EXPECT_FALSE(usable("attention.causal", false).ok());
  EXPECT_TRUE(usable("rope.scaling.finetuned", false).ok());
  EXPECT_TRUE(usable("tensor_data_layout", std::string("Meta AI original pth")).ok());
  NumbersFile other("bart");
  EXPECT_TRUE(other.set("anything", int64_t{1}).open()->usable().ok()) << "no family of ours";
}

TEST(GgufKeys, EveryRefusedKeyIsAFault) {
  NumbersFile file("llama");
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
  NumbersFile file("llama");
  file.set("attention.clamp_kqv", 8.0);
  const auto opened = file.open({{"llama.attention.clamp_kqv", "llama.absent"}});
  EXPECT_TRUE(opened->usable().ok());
  EXPECT_EQ(opened->find("attention.clamp_kqv"), nullptr);
  ASSERT_EQ(opened->ignored_keys().size(), 1U);
  EXPECT_EQ(opened->ignored_keys()[0], "llama.attention.clamp_kqv");
}

TEST(HParams, TheEpsilonOfNormsMayHaveTheNameOfTheOtherKind) {
  NumbersFile rms = NumbersFile("llama").set("attention.layer_norm_epsilon", 1e-3);
  EXPECT_FLOAT_EQ(rms.read().norm_eps, 1e-5F);
  rms.remove("attention.layer_norm_rms_epsilon");
  EXPECT_FLOAT_EQ(rms.read().norm_eps, 1e-3F);
  NumbersFile layer("starcoder2");
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
    const auto file = NumbersFile("gemma2").set(key, value).open();
    const auto h = read_hparams(*file, *find_family("gemma2"));
    ASSERT_FALSE(h) << key;
    EXPECT_EQ(h.error().code(), Code::corrupt);
    EXPECT_NE(h.error().message().find(key), std::string::npos) << h.error().message();
  }
}

// Layers 0, 1, 3 and 4 have a window; 3 to 5 read what earlier ones keep.
NumbersFile unlike_layers() {
  NumbersFile file("gemma4");
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
    NumbersFile file = unlike_layers();
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
  NumbersFile file = unlike_layers();
  file.set("attention.value_length_swa", int64_t{8});
  const auto opened = file.open();
  const auto h = read_hparams(*opened, *find_family("gemma4"));
  ASSERT_FALSE(h);
  EXPECT_EQ(h.error().code(), Code::unsupported);
  EXPECT_NE(h.error().message().find("attention.value_length_swa"), std::string::npos);
}

TEST(HParams, LayersMayDifferInHeadsAndWidths) {
  NumbersFile file("openelm");
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
    NumbersFile other = file;
    const auto opened = other.set_integers(key, wrong).open();
    const auto read = read_hparams(*opened, *find_family("openelm"));
    ASSERT_FALSE(read) << key;
    EXPECT_NE(read.error().message().find(key), std::string::npos) << read.error().message();
  }
}

}  // namespace
}  // namespace ruv
