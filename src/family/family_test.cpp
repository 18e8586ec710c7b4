// What every record must hold, and what the look-ups find.
#include "family/family.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "family/config_keys.h"
#include "family/layer_words.h"
#include "family/word_list.h"

namespace ruv {
namespace {

TEST(Family, EveryRecordIsFoundByItsNamesAlone) {
  std::set<std::string_view> names;
  for (const FamilyRecord* const family : families()) {
    EXPECT_TRUE(names.insert(family->name).second) << family->name;
    EXPECT_EQ(find_family(family->name), family);
    EXPECT_FALSE(family->published.empty()) << family->name << ": docs/families.md lists models";
    for (const HfClass& hf : family->classes) {
      const FoundClass by_type = find_hf_type(hf.model_type);
      ASSERT_NE(by_type.hf, nullptr) << hf.model_type;
      // Generations of a type are told apart by their class; encoders alone have the type of the
      // whole model.
      if (family->block.only_source) {
        EXPECT_NE(by_type.family, family) << hf.model_type;
        EXPECT_TRUE(by_type.family->block.reads_source) << hf.model_type;
      } else if (hf.shares_type) {
        EXPECT_NE(by_type.family, family) << hf.model_type;
      } else if (!has_generations(hf.model_type)) {
        EXPECT_TRUE(by_type.hf == &hf && by_type.family == family) << hf.model_type;
      }
      for (const std::string_view name : words_of(hf.class_names)) {
        EXPECT_EQ(find_hf_class(name).hf, &hf) << name;
        EXPECT_EQ(find_hf_class(name).family, family) << name;
      }
    }
    EXPECT_NE(known_families().find(" " + std::string(family->name)), std::string::npos);
  }
  EXPECT_TRUE(has_generations("bailing_moe"));
  EXPECT_FALSE(has_generations("llama") || has_generations("other"));
  EXPECT_EQ(find_family("other"), nullptr);
  EXPECT_EQ(find_hf_type("").hf, nullptr);
  EXPECT_EQ(find_hf_class("").hf, nullptr);
  EXPECT_EQ(find_hf_class("LlamaForCausalLM LlamaModel").hf, nullptr);
}

TEST(Family, AnUnknownArchitectureHasNearestOnes) {
  using Names = std::vector<std::string_view>;
  EXPECT_TRUE(nearest_families("Qwen3NextForCausalLM").front().starts_with("qwen3"));
  EXPECT_EQ(nearest_families("gema2").front(), "gemma2");
  EXPECT_EQ(nearest_families("mistral").front(), "llama") << "by the name of a class";
  EXPECT_LE(nearest_families("qwen2_vl").size(), 3U);
  EXPECT_EQ(nearest_families("t5").front(), "t5");
  EXPECT_EQ(nearest_families("q9"), Names());
  EXPECT_EQ(nearest_families(""), Names());
  EXPECT_EQ(nearest_families(std::string(100000, 'x')), Names());
}

TEST(Family, APeriodBelongsToPeriodicWindows) {
  for (const FamilyRecord* const family : families()) {
    EXPECT_EQ(family->block.windows == Windows::periodic, family->block.window_period > 0);
    for (const HfClass& hf : family->classes) {
      const bool periodic =
          hf.windows == HfWindows::periodic || hf.windows == HfWindows::periodic_or_none;
      EXPECT_TRUE(!periodic || family->block.window_period > 0);
      const bool has_local = family->local_rope_base > 0 || family->plain_local_rope;
      EXPECT_TRUE(hf.rope != HfRope::by_kind || has_local);
      const bool has_none =
          family->block.positions != Positions::rope || family->block.mixers == Mixers::time_mix;
      EXPECT_EQ(hf.rope == HfRope::none, has_none);
    }
  }
}

TEST(Family, WhatOneFieldNeedsAnotherHas) {
  for (const FamilyRecord* const family : families()) {
    const BlockSpec& block = family->block;
    // Convolutions use the memory in which a parallel feed-forward's input waits.
    const bool may_be_parallel =
        block.parallel || is_word_of(family->gguf_keys, "use_parallel_residual");
    EXPECT_FALSE(may_be_parallel && block.mixers != Mixers::attention) << family->name;
    for (const HfClass& hf : family->classes) {
      const bool has_period = block.unrotated_period > 0 || block.window_period > 0;
      EXPECT_TRUE(hf.rotated_key.empty() || has_period) << family->name;
      EXPECT_FALSE(!hf.parallel_key.empty() && block.mixers != Mixers::attention) << family->name;
    }
  }
}

TEST(Family, TheLastLayerOfAPeriodSeesAll) {
  const BlockSpec third{.windows = Windows::periodic, .window_period = 3};
  const bool windowed[] = {true, true, false, true, true, false};
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(is_windowed(third, i), windowed[i]) << i;
  EXPECT_TRUE(is_windowed({.windows = Windows::all}, 2));
  EXPECT_FALSE(is_windowed({}, 0));
}

TEST(Family, AKeyIsClaimedOrListedNotBoth) {
  for (const FamilyRecord* const family : families()) {
    for (const HfClass& hf : family->classes) {
      const auto claimed = claimed_keys(*family, hf);
      EXPECT_EQ(std::set(claimed.begin(), claimed.end()).size(), claimed.size());
      for (const std::string_view key : claimed) {
        EXPECT_FALSE(is_word_of(hf.without_effect, key)) << hf.model_type << " " << key;
        EXPECT_FALSE(is_word_of(hf_keys_without_effect(), key)) << hf.model_type << " " << key;
        for (const NeutralKey& neutral : hf.neutral) EXPECT_NE(neutral.name, key);
      }
    }
  }
}

TEST(Family, KeysAreClaimedByTheFieldsThatReadThem) {
  const auto claims = [](std::string_view model_type, std::string_view key) {
    const FoundClass found = find_hf_type(model_type);
    const auto keys = claimed_keys(*found.family, *found.hf);
    return std::ranges::count(keys, key) == 1;
  };
  EXPECT_TRUE(claims("gemma2", "attn_logit_softcapping"));
  EXPECT_FALSE(claims("gemma3", "attn_logit_softcapping"));
  EXPECT_TRUE(claims("gemma3", "rope_local_base_freq"));
  EXPECT_TRUE(claims("gpt2", "n_embd"));
  EXPECT_FALSE(claims("llama", "n_embd"));
  EXPECT_FALSE(claims("llama", "sliding_window"));
  EXPECT_TRUE(claims("mistral", "sliding_window"));
  EXPECT_TRUE(claims("qwen2", "max_window_layers"));
  EXPECT_TRUE(claims("starcoder2", "use_bias"));
}

TEST(Family, TokenizersHaveDefaultsWithoutARecordToo) {
  EXPECT_EQ(vocab_defaults_of("qwen2").splits, "qwen2");
  EXPECT_EQ(vocab_defaults_of("falcon").splits, "falcon");
  EXPECT_TRUE(vocab_defaults_of("gptneox").nfc);
  EXPECT_EQ(vocab_defaults_of("llama").splits, "");
  EXPECT_EQ(vocab_defaults_of("other").splits, "");
}

TEST(LayerWords, NamesWhatDiffersFromLlama) {
  const auto words = [](std::string_view name) { return layer_words(*find_family(name)); };
  EXPECT_EQ(layer_words({}), "");
  EXPECT_EQ(words("llama"), "windows, experts");
  EXPECT_EQ(words("gpt2"),
            "layer norms, learned positions, biases of q, k and v, GELU without a gate, biases");
  EXPECT_EQ(words("gemma2"),
            "scaled embeddings, norms before and after, windows in all but every 2nd layer, capped "
            "scores, gated by GELU, capped logits");
}

TEST(WordList, WordsAreWhole) {
  EXPECT_TRUE(is_word_of("one two", "two"));
  EXPECT_TRUE(is_word_of(" one  two ", "one"));
  EXPECT_FALSE(is_word_of("one two", "tw"));
  EXPECT_FALSE(is_word_of("one two", "one two"));
  EXPECT_FALSE(is_word_of("", ""));
  EXPECT_EQ(words_of(" one  two "), (std::vector<std::string_view>{"one", "two"}));
  EXPECT_TRUE(words_of(" ").empty());
}

}  // namespace
}  // namespace ruv
