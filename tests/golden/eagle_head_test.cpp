// EAGLE-3 heads of files of their own against an independent reference (make_eagle_goldens.py):
// logits after all rows of a text that was read at once or in parts, and of one draft further; what
// such a head is not used for, and damaged ones.
#include <gtest/gtest.h>

#include <functional>

#include "base/file.h"
#include "base/rng.h"
#include "format/gguf_builder.h"
#include "format/model_file.h"
#include "format/quantize.h"
#include "model/examine.h"
#include "ruv/model.h"
#include "test_head_files.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

Json eagle_goldens() {
  const std::string path = RUV_SOURCE_DIR "/tests/golden/heads/eagle.json";
  return *parse_json(*read_text_file(path), path);
}
Json eagle_golden(size_t i) { return eagle_goldens()[i]; }

// A head as a GGUF file, under the names that llama.cpp gives keys and tensors.
class HeadGguf {
 public:
  HeadGguf(const Json& golden, const std::vector<int32_t>& places) : head_(golden.at("head")) {
    for (const Json& row : head_.at("tensors")) add(tensor_of(row, head_));
    if (head_.contains("d2t")) add_tokens();
    add_keys(golden.at("config").at("hidden_size").get<uint32_t>(), places);
  }

  void write(const std::string& path) const {
    GgufBuilder file(3, tensors_.size(), n_keys_);
    std::string bytes = file.bytes() + keys_.bytes().substr(kHeadBytes);
    GgufBuilder infos(3, 0, 0);
    std::string data;
    for (const GoldenTensor& tensor : tensors_) {
      data.resize((data.size() + 31) / 32 * 32);
      std::vector<uint64_t> dims(tensor.shape.rbegin(), tensor.shape.rend());
      infos.tensor(tensor.name, dims, tensor.name == "d2t" ? 27 : 0, data.size());
      data += tensor.bytes;
    }
    bytes += infos.bytes().substr(kHeadBytes);
    bytes.resize((bytes.size() + 31) / 32 * 32);
    write_golden_text(path, bytes + data);
  }

 private:
  static constexpr size_t kHeadBytes = 24;  // before keys and tensors

  int64_t number(const char* key) const { return head_.at("config").at(key).get<int64_t>(); }
  int64_t head_dim() const {
    const Json& dim = head_.at("config")["head_dim"];
    return dim.is_null() ? number("hidden_size") / number("num_attention_heads")
                         : dim.get<int64_t>();
  }

  void add(GoldenTensor tensor) {
    static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
        {"embed_tokens.", "token_embd."},
        {"lm_head.", "output."},
        {"midlayer.", "blk.0."},
        {"layers.0.", "blk.0."},
        {"input_layernorm.", "attn_norm."},
        {"hidden_norm.", "attn_norm_2."},
        {"self_attn.q_proj.", "attn_q."},
        {"self_attn.k_proj.", "attn_k."},
        {"self_attn.v_proj.", "attn_v."},
        {"self_attn.o_proj.", "attn_output."},
        {"post_attention_layernorm.", "ffn_norm."},
        {"mlp.gate_proj.", "ffn_gate."},
        {"mlp.up_proj.", "ffn_up."},
        {"mlp.down_proj.", "ffn_down."}};
    if (tensor.name == "norm.weight") tensor.name = "output_norm.weight";
    for (const auto& [hf, gguf] : kNames) {
      const size_t at = tensor.name.find(hf);
      if (at == 0 || (at != tensor.name.npos && tensor.name.starts_with("blk.0."))) {
        tensor.name.replace(at, hf.size(), gguf);
      }
    }
    const bool turns = tensor.name.find("attn_q.") != tensor.name.npos ||
                       tensor.name.find("attn_k.") != tensor.name.npos;
    if (turns) order_by_neighbours(tensor);
    tensors_.push_back(std::move(tensor));
  }
  // Rows i and i + half of a head become neighbours.
  void order_by_neighbours(GoldenTensor& tensor) const {
    const auto n_rows = static_cast<size_t>(tensor.shape[0]);
    const auto half = static_cast<size_t>(head_dim()) / 2;
    const size_t row = tensor.bytes.size() / n_rows;
    const std::string plain = tensor.bytes;
    for (size_t i = 0; i < n_rows; ++i) {
      const size_t head = i / (2 * half) * 2 * half, in_head = i % (2 * half);
      const size_t to = head + (in_head < half ? 2 * in_head : 2 * (in_head - half) + 1);
      plain.copy(&tensor.bytes[to * row], row, i * row);
    }
  }
  void add_tokens() {
    auto tokens = head_.at("d2t").get<std::vector<int64_t>>();
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] += static_cast<int64_t>(i);
    GoldenTensor table{"d2t", {std::ssize(tokens)}, std::string(tokens.size() * 8, ' ')};
    std::memcpy(table.bytes.data(), tokens.data(), table.bytes.size());
    tensors_.push_back(std::move(table));
  }

  void integer(const std::string& key, int64_t value) {
    keys_.u32_entry("eagle3." + key, static_cast<uint32_t>(value));
    ++n_keys_;
  }
  void real(const std::string& key, double value) {
    keys_.key("eagle3." + key, 6).raw(static_cast<float>(value));
    ++n_keys_;
  }
  void add_keys(uint32_t width, const std::vector<int32_t>& places) {
    const Json& config = head_.at("config");
    keys_.text_entry("general.architecture", "eagle3");
    keys_.array_entry("eagle3.target_layers", 5, places);
    keys_.key("eagle3.norm_before_residual", 7)
        .raw(uint8_t{config.value("norm_before_residual", Json(false)).get<bool>()});
    n_keys_ = 3;
    integer("target_hidden_size", width);
    integer("block_count", 1);
    integer("context_length", 64);
    integer("vocab_size", number("vocab_size"));
    integer("embedding_length", number("hidden_size"));
    integer("feed_forward_length", number("intermediate_size"));
    integer("attention.head_count", number("num_attention_heads"));
    integer("attention.head_count_kv", number("num_key_value_heads"));
    integer("attention.key_length", head_dim());
    integer("attention.value_length", head_dim());
    integer("rope.dimension_count", head_dim());
    real("attention.layer_norm_rms_epsilon", config.at("rms_norm_eps").get<double>());
    real("rope.freq_base", config.value("rope_theta", Json(10000.0)).get<double>());
    const Json scaling = config.value("rope_scaling", Json::object());
    if (scaling.empty()) return;
    const bool is_llama3 = scaling.contains("rope_type");
    keys_.text_entry("eagle3.rope.scaling.type", is_llama3 ? "llama3" : "linear");
    ++n_keys_;
    real("rope.scaling.factor", scaling.at("factor").get<double>());
    if (!is_llama3) return;
    real("rope.scaling.low_freq_factor", scaling.at("low_freq_factor").get<double>());
    real("rope.scaling.high_freq_factor", scaling.at("high_freq_factor").get<double>());
    integer("rope.scaling.original_context_length",
            scaling.at("original_max_position_embeddings").get<int64_t>());
  }

  Json head_;
  GgufBuilder keys_{3, 0, 0};
  uint64_t n_keys_ = 0;
  std::vector<GoldenTensor> tensors_;
};

class EagleHeads : public HeadFiles {
 protected:
  void expect_answers(const Model& model, const Json& golden) const {
    ASSERT_NE(model.head, nullptr);
    for (const Json& answer : golden.at("answers")) {
      const std::vector<Token> ids = prompt_of(golden, answer.at("length").get<size_t>());
      const auto drafted = answer.at("drafted").get<Token>();
      const Rows whole = HeadText(model).logits(ids, drafted, 128);
      EXPECT_LE(worst_gap(whole, answer), kHeadBound) << ids.size() << " ids";
      EXPECT_EQ(HeadText(model).logits(ids, drafted, 7), whole);
    }
  }
};

TEST_F(EagleHeads, LogitsAreThoseOfTheReference) {
  for (const Json& golden : eagle_goldens()) {
    SCOPED_TRACE(golden.at("name").get<std::string>());
    write(golden);
    ASSERT_TRUE(is_draft_head(head_path()));
    ASSERT_FALSE(is_draft_head(model_path()));
    const auto model = load();
    ASSERT_TRUE(model) << model.error().message();
    expect_answers(**model, golden);
    const size_t n_outputs = golden.at("head").value("d2t", Json::array()).size();
    EXPECT_EQ((*model)->head->tokens.size(), n_outputs);
  }
}

TEST_F(EagleHeads, GgufFilesAreTheSameHeads) {
  for (const Json& golden : eagle_goldens()) {
    SCOPED_TRACE(golden.at("name").get<std::string>());
    write(golden);
    const auto folder = load();
    ASSERT_TRUE(folder);
    std::vector<int32_t> places;
    for (const int64_t n : (*folder)->head->taps) places.push_back(static_cast<int32_t>(n));
    fs::remove_all(head_path());
    HeadGguf(golden, places).write(head_path());
    ASSERT_TRUE(is_draft_head(head_path()));
    const auto model = load();
    ASSERT_TRUE(model) << model.error().message();
    expect_answers(**model, golden);
    EXPECT_EQ((*model)->head->tokens, (*folder)->head->tokens);
    EXPECT_EQ((*model)->head->taps, (*folder)->head->taps);
    const ExaminedModel examined = examine_model(head_path());
    EXPECT_TRUE(examined.faults.empty()) << examined.faults.first().message();
  }
}

// A head with any byte or value that does not belong there drafts, or is refused.
TEST_F(EagleHeads, HostileOnesCrashNothing) {
  const Json values = *parse_json(
      R"([0, -1, 1, 2, 3, 2147483647, 2147483648, 9007199254740992, 1e308, -0.5, 1e-30, null, true,
          "x", "", [], {}, [0], [1, 2, 3], [-1, 0, 1], [0, 1, 1099511627776], {"a": 1}, [["a"]]])",
      "values");
  Rng rng(11);
  int n_taken = 0;
  for (int round = 0; round < 400; ++round) {
    const Json golden = eagle_golden(rng.below(4));
    if (round % 50 == 0 || round % 2 == 0) write(golden);
    if (round % 2 == 0) {
      Json config = golden.at("head").at("config");
      std::vector<std::string> keys;
      for (const auto& [key, value] : config.items()) keys.emplace_back(key);
      Json* at = &config;
      const std::string key = keys[rng.below(keys.size())];
      const std::string ids = "eagle_aux_hidden_state_layer_ids";
      if (key == "eagle_config" && rng.below(2) == 0) at = config.find(key);
      (*at)[at == &config ? key : ids] = values[rng.below(values.size())];
      write_golden_text(head_path() + "/config.json", config.dump());
    } else {
      write(golden);
      fs::remove_all(head_path());
      HeadGguf(golden, {1, 2, 3}).write(head_path());
      std::string bytes = *read_text_file(head_path());
      for (uint64_t i = 0; i <= rng.below(3); ++i) {
        bytes[8 + rng.below(2500)] = static_cast<char>(rng.below(256));
      }
      write_golden_text(head_path(), bytes);
    }
    is_draft_head(head_path());
    const auto model = load();
    if (!model) {
      EXPECT_FALSE(model.error().message().empty());
      continue;
    }
    ++n_taken;
    HeadText(**model).logits(prompt_of(golden, 17), 5, 128);
  }
  EXPECT_GT(n_taken, 20);
}

// Folders of another library: the layer's numbers are in an object, and the list counts otherwise.
TEST_F(EagleHeads, NestedConfigsAreTheSameHeads) {
  Json golden = eagle_golden(1);
  const Json plain = golden.at("head").at("config");
  Json config = {{"architectures", {"Eagle3Speculator"}},
                 {"speculators_model_type", "eagle3"},
                 {"speculators_config", {{"algorithm", "eagle3"}}},
                 {"draft_vocab_size", plain.at("draft_vocab_size")},
                 {"norm_before_residual", true},
                 {"target_hidden_size", nullptr},
                 {"eagle_aux_hidden_state_layer_ids", {1, 2, 4}},
                 {"tie_word_embeddings", false}};
  Json layer = plain;
  for (const char* const key : {"architectures", "draft_vocab_size", "norm_before_residual",
                                "eagle_config", "tie_word_embeddings"}) {
    layer.erase(key);
  }
  config["transformer_layer_config"] = layer;
  golden["head"]["config"] = config;
  write(golden);
  const auto model = load();
  ASSERT_TRUE(model) << model.error().message();
  expect_answers(**model, golden);
  golden["head"]["config"].erase("norm_before_residual");
  write(golden);
  expect_refused("norm_before_residual");
}

TEST_F(EagleHeads, PackedWeightsAreKeptForTheNextStart) {
  const Json golden = eagle_golden(1);
  write(golden);
  for (const bool is_second : {false, true}) {
    const auto model = load(root_ + "/packed");
    ASSERT_TRUE(model) << model.error().message();
    EXPECT_EQ((*model)->head->source->from_packed_file, is_second);
    expect_answers(**model, golden);
  }
}

// Bytes that a head alone needs are not there without it.
TEST_F(EagleHeads, NothingIsKeptWithoutOne) {
  write(eagle_golden(0));
  LoadOptions options;
  options.n_threads = 1;
  const auto plain = load_model(model_path(), options);
  const auto with = load();
  ASSERT_TRUE(plain && with);
  EXPECT_EQ((*plain)->head, nullptr);
  EXPECT_EQ((*with)->cache_layout().layers.size(), (*plain)->cache_layout().layers.size() + 1);
  const auto bare = Activations::create(**plain, 8, 8);
  ASSERT_TRUE(bare);
  const auto views = bare->rows(8, 8);
  for (const View& tap : views.taps) EXPECT_EQ(tap.start, views.tapped.start) << "no memory";
}

TEST_F(EagleHeads, AHeadIsNoModel) {
  write(eagle_golden(0));
  const auto model = load_model(head_path(), LoadOptions{});
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message().find("--draft-model"), std::string::npos);
  EXPECT_FALSE(check_model(head_path()).ok());
  const auto file = ModelFile::open(head_path());
  ASSERT_TRUE(file);
  EXPECT_FALSE(quantize_model(**file, "q8_0", root_ + "/head.gguf", {}).ok());
  // What `ruvllm info` says of it.
  const ExaminedModel examined = examine_model(head_path());
  EXPECT_TRUE(examined.faults.empty()) << examined.faults.first().message();
  const std::string text = draft_head_text(*examined.model);
  EXPECT_NE(text.find("models of width 20 with 61 tokens, drafts 23 of them"), text.npos) << text;
  LoadOptions options;
  options.draft_head_file = model_path();
  const auto swapped = load_model(model_path(), options);
  ASSERT_FALSE(swapped);
  EXPECT_NE(swapped.error().message().find("not a drafting head"), std::string::npos);
}

TEST_F(EagleHeads, OfAnotherModelAreRefusedByName) {
  const Json goldens = eagle_goldens();
  const auto refuse = [&](size_t of, const char* key, const Json& value, std::string_view part) {
    SCOPED_TRACE(key);
    Json golden = goldens[of];
    golden["head"]["config"][key] = value;
    write(golden);
    expect_refused(part);
  };
  refuse(0, "target_hidden_size", 24, "'target_hidden_size' is 24, here 20");
  refuse(0, "vocab_size", 60, "'vocab_size' is 60, here 61");
  refuse(0, "num_hidden_layers", 2, "num_hidden_layers");
  refuse(0, "norm_before_fc", true, "norm_before_fc");
  refuse(0, "draft_vocab_size", 22, "draft_vocab_size");
  const Json far = {{"eagle_aux_hidden_state_layer_ids", {0, 1, 8}}};
  refuse(0, "eagle_config", far, "eagle_aux_hidden_state_layer_ids");
  const Json turned = {{"eagle_aux_hidden_state_layer_ids", {2, 1, 5}}};
  refuse(0, "eagle_config", turned, "eagle_aux_hidden_state_layer_ids");
  const Json two = {{"eagle_aux_hidden_state_layer_ids", {1, 2}}};
  refuse(0, "eagle_config", two, "eagle_aux_hidden_state_layer_ids");
  refuse(0, "eagle_config", {{"use_aux_hidden_state", false}}, "use_aux_hidden_state");
  refuse(0, "eagle_config", {{"parallel_draft_step", 4}}, "parallel_draft_step");
  // Of another width; and beside too few layers for the usual places.
  Json golden = goldens[size_t{0}];
  golden["head"] = goldens[size_t{1}].at("head");
  write(golden);
  expect_refused("'hidden_size' is 24, here 20");
  golden = goldens[size_t{2}];
  golden["head"]["config"].erase("eagle_config");
  write(golden);
  expect_refused("after 2, 2 and 2 layers");
  // The model's embeddings are scaled.
  golden = goldens[size_t{3}];
  Json kept = Json::array();
  for (const Json& tensor : golden.at("head").at("tensors")) {
    if (tensor[size_t{0}].get<std::string>() != "embed_tokens.weight") kept.push_back(tensor);
  }
  golden["head"]["tensors"] = kept;
  write(golden);
  expect_refused("embed_tokens.weight");
}

TEST_F(EagleHeads, DamagedOnesAreRefusedByTheTensor) {
  const Json golden = eagle_golden(0);
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
    // A lone matrix of the two before the activation counts as both of them.
    expect_refused(name.find("gate_proj") == name.npos ? name : "up_proj.weight");
    const ExaminedModel examined = examine_model(head_path());
    EXPECT_FALSE(examined.faults.empty());
  }
  Json head = golden.at("head");
  head["tensors"].push_back(
      Json::array({"midlayer.self_attn.q_norm.weight", Json::array({16}), 1.0, 0.5}));
  write_head(head);
  expect_refused("midlayer.self_attn.q_norm.weight");
  for (const int64_t number : {int64_t{-4}, int64_t{60}, INT64_MIN, INT64_MAX}) {
    head = golden.at("head");
    head["d2t"][size_t{3}] = number;
    write_head(head);
    expect_refused("tensor 'd2t': number 3");
  }
  head = golden.at("head");
  head.erase("d2t");
  write_head(head);
  expect_refused("tensor 'd2t' is missing");
}

TEST_F(EagleHeads, PicklesAreRefusedWithTheWayOut) {
  write(eagle_golden(0));
  fs::remove(head_path() + "/weights.safetensors");
  fs::remove(head_path() + "/model.safetensors.index.json");
  write_golden_text(head_path() + "/pytorch_model.bin", "PK");
  ASSERT_TRUE(is_draft_head(head_path()));
  expect_refused("make safetensors of it");
}

}  // namespace
}  // namespace ruv
