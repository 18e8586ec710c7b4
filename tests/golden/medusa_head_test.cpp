// Medusa heads of files of their own against an independent reference (make_medusa_goldens.py):
// logits of all heads after rows of a text that was read at once or in parts; what such heads are
// not used for, and damaged ones.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/rng.h"
#include "format/model_file.h"
#include "format/quantize.h"
#include "model/examine.h"
#include "ruv/model.h"
#include "test_head_files.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

Json medusa_goldens() {
  const std::string path = RUV_SOURCE_DIR "/tests/golden/heads/medusa.json";
  return *parse_json(*read_text_file(path), path);
}
Json medusa_golden(std::string_view name) {
  for (const Json& one : medusa_goldens()) {
    if (one.at("name").get<std::string>() == name) return one;
  }
  ADD_FAILURE() << name;
  return {};
}

class MedusaHeads : public HeadFiles {
 protected:
  // The golden with this member of the heads' config is refused, and says this.
  void refuse(Json golden, const char* key, const Json& value, std::string_view part) const {
    SCOPED_TRACE(key);
    golden["head"]["config"][key] = value;
    write(golden);
    expect_refused(part);
  }
  static void expect_answers(const Model& model, const Json& golden) {
    ASSERT_NE(model.head, nullptr);
    for (const Json& answer : golden.at("answers")) {
      const std::vector<Token> ids = prompt_of(golden, answer.at("length").get<size_t>());
      const Json& heads = answer.at("logits");
      ASSERT_EQ(model.head->parallel.size(), heads.size());
      for (size_t i = 0; i < heads.size(); ++i) {
        const auto ahead = static_cast<int64_t>(i);
        const Rows whole = HeadText(model).logits_ahead(ids, ahead, 128);
        EXPECT_LE(worst_gap(whole, answer, heads[i]), kHeadBound)
            << ids.size() << " ids, head " << i;
        EXPECT_EQ(HeadText(model).logits_ahead(ids, ahead, 7), whole);
      }
    }
  }
};

TEST_F(MedusaHeads, LogitsAreThoseOfTheReference) {
  for (const Json& golden : medusa_goldens()) {
    SCOPED_TRACE(golden.at("name").get<std::string>());
    write(golden);
    ASSERT_TRUE(is_draft_head(head_path()));
    ASSERT_FALSE(is_draft_head(model_path()));
    const ExaminedModel examined = examine_model(head_path());
    EXPECT_TRUE(examined.faults.empty()) << examined.faults.first().message();
    const auto model = load();
    ASSERT_TRUE(model) << model.error().message();
    expect_answers(**model, golden);
    const Json tokens = golden.at("head").value("token_map", Json::array());
    EXPECT_EQ((*model)->head->tokens, tokens.get<std::vector<Token>>());
    // They keep nothing of a text.
    const auto plain = load_model(model_path(), LoadOptions{});
    ASSERT_TRUE(plain);
    EXPECT_EQ((*model)->cache_layout().layers.size(), (*plain)->cache_layout().layers.size());
  }
}

// Configs and names that mean the same heads.
TEST_F(MedusaHeads, OtherSpellingsAreTheSameHeads) {
  const Json golden = medusa_golden("own_outputs");
  for (const char* const type : {"", "medusa"}) {
    SCOPED_TRACE(type);
    Json typed = golden;
    typed["head"]["config"]["model_type"] = type;
    write(typed);
    const auto model = load();
    ASSERT_TRUE(model) << model.error().message();
    expect_answers(**model, golden);
  }
  Json golden_of_class = medusa_golden("some_tokens");
  Json& config = golden_of_class["head"]["config"];
  config["medusa_num_heads"] = config.at("num_heads");
  config.erase("num_heads");
  for (Json& tensor : golden_of_class["head"]["tensors"]) {
    const auto name = tensor[size_t{0}].get<std::string>();
    const Json made_of = name;  // its numbers are still those of that name
    tensor = Json::array(
        {"medusa_heads." + name, made_of, tensor[size_t{1}], tensor[size_t{2}], tensor[size_t{3}]});
  }
  write(golden_of_class);
  const auto model = load();
  ASSERT_TRUE(model) << model.error().message();
  expect_answers(**model, golden_of_class);
}

// The config counts, as for those who wrote the file.
TEST_F(MedusaHeads, HeadsBeyondTheNumberAreLeftOut) {
  Json golden = medusa_golden("own_outputs");
  golden["head"]["config"]["medusa_num_heads"] = 2;
  write(golden);
  for (Json& answer : golden["answers"]) {
    answer["logits"] =
        Json::array({answer.at("logits")[size_t{0}], answer.at("logits")[size_t{1}]});
  }
  const auto model = load();
  ASSERT_TRUE(model) << model.error().message();
  expect_answers(**model, golden);
  const auto remarks = (*model)->head->source->remarks;
  const auto names_it = [](const std::string& text) {
    return text.find("'2.0.linear.weight'") != text.npos;
  };
  EXPECT_EQ(std::ranges::count_if(remarks, names_it), 1);
}

// Heads with any byte or value that does not belong there draft, or are refused.
TEST_F(MedusaHeads, HostileOnesCrashNothing) {
  const Json values = *parse_json(
      R"([0, -1, 1, 2, 3, 64, 65, 2147483647, 2147483648, 9007199254740992, 1e308, -0.5, 1e-30,
          null, true, false, "x", "", [], {}, [0], [1, 2, 3], {"a": 1}, [["a"]]])",
      "values");
  Rng rng(11);
  int n_taken = 0;
  const Json goldens = medusa_goldens();
  for (int round = 0; round < 400; ++round) {
    const Json& golden = goldens[rng.below(goldens.size())];
    write(golden);
    if (round % 2 == 0) {
      Json config = golden.at("head").at("config");
      std::vector<std::string> keys = {
          "medusa_num_heads", "num_hidden_layers", "truncated_vocab_size", "original_lm_head",
          "medusa_fc_bias",   "vocab_size",        "hidden_size"};
      for (const auto& [key, value] : config.items()) keys.emplace_back(key);
      config[keys[rng.below(keys.size())]] = values[rng.below(values.size())];
      write_golden_text(head_path() + "/config.json", config.dump());
    } else {
      std::vector<std::string> files;
      for (const auto& file : fs::directory_iterator(head_path())) {
        files.push_back(file.path().string());
      }
      std::ranges::sort(files);
      const std::string& file = files[rng.below(files.size())];
      std::string bytes = *read_text_file(file);
      for (uint64_t i = 0; i <= rng.below(3); ++i) {
        bytes[rng.below(std::min<size_t>(bytes.size(), 1500))] = static_cast<char>(rng.below(256));
      }
      write_golden_text(file, bytes);
    }
    is_draft_head(head_path());
    examine_model(head_path());
    const auto model = load();
    if (!model) {
      EXPECT_FALSE(model.error().message().empty());
      continue;
    }
    ++n_taken;
    HeadText(**model).logits_ahead(prompt_of(golden, 17), 0, 128);
  }
  EXPECT_GT(n_taken, 20);
}

TEST_F(MedusaHeads, PackedWeightsAreKeptForTheNextStart) {
  for (const char* const name : {"two_blocks", "some_tokens"}) {
    const Json golden = medusa_golden(name);
    write(golden);
    fs::remove_all(root_ + "/packed");
    for (const bool is_second : {false, true}) {
      const auto model = load(root_ + "/packed");
      ASSERT_TRUE(model) << model.error().message();
      EXPECT_EQ((*model)->head->source->from_packed_file, is_second);
      expect_answers(**model, golden);
    }
  }
}

TEST_F(MedusaHeads, HeadsAreNoModel) {
  write(medusa_golden("some_tokens"));
  const auto model = load_model(head_path(), LoadOptions{});
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message().find("--draft-model"), std::string::npos);
  EXPECT_FALSE(check_model(head_path()).ok());
  const auto file = ModelFile::open(head_path());
  ASSERT_TRUE(file);
  EXPECT_FALSE(quantize_model(**file, "q8_0", root_ + "/head.gguf", {}).ok());
  // What `ruvllm info` says of it.
  EXPECT_EQ(draft_head_text(*examine_model(head_path()).model),
            "3 heads of 2 blocks for models of width 24 with 61 tokens, drafts 23 of them");
  write(medusa_golden("model_outputs"));
  EXPECT_EQ(draft_head_text(*examine_model(head_path()).model),
            "4 heads of 1 block for models of width 16, with the model's output matrix");
}

TEST_F(MedusaHeads, OfAnotherModelAreRefusedByName) {
  const Json own = medusa_golden("own_outputs"), two = medusa_golden("two_blocks");
  const Json some = medusa_golden("some_tokens"), one = medusa_golden("one_output");
  Json golden = own;
  golden["head"] = two.at("head");
  write(golden);
  expect_refused("'hidden_size' is 24, here 20");
  golden = two;
  golden["head"] = own.at("head");
  write(golden);
  expect_refused("'embedding_length' is 20, here 24");
  // The output matrices have as many rows as the config says, or as the model has.
  refuse(two, "vocab_size", 60, "tensor '0.2.weight'");
  refuse(some, "vocab_size", 62, "tensor 'lm_heads.0.weight'");
  refuse(one, "vocab_size", 62, "'vocab_size' is 62, here 61");
  golden = own;
  for (Json& tensor : golden["head"]["tensors"]) {
    if (tensor[size_t{0}].get<std::string>().ends_with(".1.weight")) {
      tensor[size_t{1}] = Json::array({60, 20});
    }
  }
  write(golden);
  expect_refused("'vocab_size' is 60, here 61");
}

TEST_F(MedusaHeads, WhatIsNotHonouredIsRefusedByName) {
  const Json own = medusa_golden("own_outputs"), two = medusa_golden("two_blocks");
  const Json some = medusa_golden("some_tokens"), one = medusa_golden("one_output");
  refuse(own, "medusa_num_heads", 0, "medusa_num_heads");
  refuse(own, "medusa_num_heads", 65, "medusa_num_heads");
  refuse(own, "medusa_num_heads", 4, "tensor '3.0.linear.weight' is missing");
  refuse(own, "medusa_num_layers", 2, "has no role");
  refuse(own, "num_heads", 3, "num_heads");
  refuse(own, "hidden_size", 24, "tensor '0.0.linear.weight'");
  refuse(own, "medusa_fc_bias", false, "medusa_fc_bias");
  refuse(own, "parallel_draft_step", 4, "parallel_draft_step");
  refuse(own, "logit_scale", 0.5, "logit_scale");
  refuse(own, "version", 3, "version");
  refuse(own, "quantization_config", {{"quant_method", "awq"}}, "quantization_config");
  refuse(some, "medusa_fc_bias", false, "tensor 'blocks.0.layers.0.bias' has no role");
  refuse(some, "truncated_vocab_size", 22, "truncated_vocab_size");
  refuse(some, "truncated_vocab_size", 62, "truncated_vocab_size");
  refuse(some, "truncated_vocab_size", nullptr, "tensor 'token_map' has no role");
  refuse(some, "vocab_size", nullptr, "vocab_size");
  refuse(some, "original_lm_head", true, "tensor 'lm_heads.1.weight' has no role");
  refuse(one, "original_lm_head", false, "tensor 'lm_heads.1.weight' is missing");
  refuse(one, "truncated_vocab_size", 61, "token_map");
  for (const int64_t number : {int64_t{-1}, int64_t{61}, INT64_MIN, INT64_MAX}) {
    Json golden = some;
    golden["head"]["token_map"][size_t{3}] = number;
    write(golden);
    expect_refused("tensor 'token_map': number 3");
  }
  Json golden = some;
  golden["head"].erase("token_map");
  write(golden);
  expect_refused("tensor 'token_map' is missing");
}

TEST_F(MedusaHeads, DamagedOnesAreRefusedByTheTensor) {
  for (const char* const of : {"two_blocks", "some_tokens", "one_output"}) {
    const Json golden = medusa_golden(of);
    write(golden);
    const size_t n = golden.at("head").at("tensors").size();
    for (size_t i = 0; i < n; ++i) {
      Json head = golden.at("head");
      const auto name = head.at("tensors")[i][size_t{0}].get<std::string>();
      SCOPED_TRACE(name);
      Json& shape = head["tensors"][i][size_t{1}];
      shape[0] = shape[0].get<int64_t>() + 1;
      write_head(head);
      expect_refused(name);
      head = golden.at("head");
      Json kept = Json::array();
      for (size_t j = 0; j < n; ++j) {
        if (j != i) kept.push_back(head.at("tensors")[j]);
      }
      head["tensors"] = kept;
      write_head(head);
      expect_refused(name);
      EXPECT_FALSE(examine_model(head_path()).faults.empty());
    }
  }
  Json golden = medusa_golden("two_blocks");
  for (const char* const name : {"0.2.bias", "0.3.weight", "00.0.linear.weight", "0.linear.weight",
                                 "blocks.0.layers.2.weight", "lm_head.weight", "token_map"}) {
    Json head = golden.at("head");
    head["tensors"].push_back(Json::array({name, Json::array({24, 24}), 0.0, 0.5}));
    write_head(head);
    expect_refused(std::string("tensor '") + name + "' has no role");
  }
}

TEST_F(MedusaHeads, PicklesAreRefusedWithTheWayOut) {
  write(medusa_golden("own_outputs"));
  fs::remove(head_path() + "/medusa_lm_head.safetensors");
  expect_refused("neither model.safetensors");
  write_golden_text(head_path() + "/medusa_lm_head.pt", "PK");
  ASSERT_TRUE(is_draft_head(head_path()));
  expect_refused("convert it to medusa_lm_head.safetensors first");
  EXPECT_FALSE(examine_model(head_path()).faults.empty());
}

}  // namespace
}  // namespace ruv
