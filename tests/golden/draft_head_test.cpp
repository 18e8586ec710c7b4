// Drafting heads against an independent reference (make_head_goldens.py): logits after all rows of
// a text that was read at once or in parts, and of one draft further, from folders and GGUF files.
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "format/model_file.h"
#include "format/quantize.h"
#include "model/examine.h"
#include "ruv/model.h"
#include "test_golden_files.h"
#include "test_head_text.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

constexpr double kBound = 2e-4;  // of the logits' standard deviation

void expect_answers(const std::string& path, const Json& golden,
                    const std::string& text = "1 layer for multi-token prediction") {
  LoadOptions options;
  options.n_threads = 1;
  const auto model = load_model(path, options);
  ASSERT_TRUE(model) << model.error().message();
  ASSERT_NE((*model)->head, nullptr) << (*model)->head_unused;
  EXPECT_EQ(draft_head_text(**model), text);
  for (const Json& answer : golden.at("answers")) {
    const std::vector<Token> ids = prompt_of(golden, answer.at("length").get<size_t>());
    const auto drafted = answer.at("drafted").get<Token>();
    const Rows whole = HeadText(**model).logits(ids, drafted, 128);
    EXPECT_LE(worst_gap(whole, answer), kBound) << ids.size() << " ids";
    EXPECT_EQ(HeadText(**model).logits(ids, drafted, 7), whole);
  }
}

Json head_goldens() {
  const std::string path = RUV_SOURCE_DIR "/tests/golden/heads/heads.json";
  return *parse_json(*read_text_file(path), path);
}

class DraftHeads : public testing::Test {
 protected:
  DraftHeads() { fs::create_directories(root_); }
  ~DraftHeads() override { fs::remove_all(root_); }

  std::string export_of(const std::string& folder) {
    const std::string path = root_ + "/model.gguf";
    fs::remove(path);
    const auto file = ModelFile::open(folder);
    EXPECT_TRUE(file);
    const Status status = quantize_model(**file, "f32", path);
    EXPECT_TRUE(status.ok()) << status.message();
    return path;
  }

  std::string root_ = testing::TempDir() + "ruv_heads_" + std::to_string(getpid());
};

TEST_F(DraftHeads, LogitsAreThoseOfTheReference) {
  int n_kept = 0;
  for (const Json& golden : head_goldens()) {
    SCOPED_TRACE(golden.at("name").get<std::string>() + " " + golden.at("config").dump());
    const std::string folder = root_ + "/model";
    fs::remove_all(folder);
    write_folder(folder, golden);
    expect_answers(folder, golden);
    const auto type = golden.at("config").at("model_type").get<std::string>();
    const bool has_place = type == "glm4_moe" || type == "qwen3_5_text" || type == "deepseek_v32" ||
                           type == "glm_moe_dsa";
    const std::string gguf = export_of(folder);
    if (has_place) {
      expect_answers(gguf, golden);
      ++n_kept;
      continue;
    }
    // GGUF files of the family have no place for a head.
    const auto model = load_model(gguf, LoadOptions{});
    ASSERT_TRUE(model) << model.error().message();
    EXPECT_EQ((*model)->head, nullptr);
    EXPECT_EQ((*model)->h.n_layers, golden.at("config").at("num_hidden_layers").get<int64_t>());
    EXPECT_EQ(draft_head_text(**model), "");
  }
  EXPECT_GE(n_kept, 8);
}

TEST_F(DraftHeads, TheFirstOfSeveralLayersDrafts) {
  Json golden = head_goldens().front();
  const auto n_layers = golden.at("config").at("num_hidden_layers").get<int64_t>();
  const std::string first = "model.layers." + std::to_string(n_layers) + ".";
  const std::string second = "model.layers." + std::to_string(n_layers + 1) + ".";
  Json all = Json::array();
  for (const Json& tensor : golden.at("tensors")) {
    all.push_back(tensor);
    const auto name = tensor.at(0).get<std::string>();
    if (!name.starts_with(first)) continue;
    all.push_back(Json::array(
        {second + name.substr(first.size()), second, tensor.at(1), tensor.at(2), tensor.at(3)}));
  }
  golden["tensors"] = all;
  const std::string folder = root_ + "/model";
  const std::string text = "2 layers for multi-token prediction, of which the first drafts";
  write_folder(folder, golden);
  expect_answers(folder, golden, text);
  expect_answers(export_of(folder), golden, text);
}

// Which of several windows and positions such a layer has is not known.
TEST_F(DraftHeads, AreNotUsedWhereLayersDifferInWhatTheySee) {
  const std::string path = RUV_SOURCE_DIR "/tests/golden/families/exaone-moe.json";
  const Json goldens = *parse_json(*read_text_file(path), path);
  int n_differing = 0;
  for (Json golden : goldens) {
    if (golden.contains("refused_by")) continue;
    const auto width = golden.at("config").at("hidden_size").get<int64_t>();
    Json all = golden.at("tensors");
    all.push_back(Json::array({"mtp.fc.weight", Json::array({width, 2 * width}), 0.0, 0.5}));
    golden["tensors"] = all;
    fs::remove_all(root_ + "/model");
    write_folder(root_ + "/model", golden);
    const auto model = load_model(root_ + "/model", LoadOptions{});
    ASSERT_TRUE(model) << model.error().message();
    EXPECT_EQ((*model)->head, nullptr);
    const std::string text = draft_head_text(**model);
    n_differing += text.find("layers of several") != text.npos ? 1 : 0;
    EXPECT_NE(text.find("not used"), text.npos) << text;
  }
  EXPECT_GT(n_differing, 0);
}

TEST_F(DraftHeads, AHeadThatCannotBeComputedIsNamedAndLeftUnused) {
  Json golden = head_goldens().front();
  const auto n_layers = golden.at("config").at("num_hidden_layers").get<int64_t>();
  const std::string lacking = "model.layers." + std::to_string(n_layers) + ".hnorm.weight";
  Json kept = Json::array();
  for (const Json& tensor : golden.at("tensors")) {
    if (tensor.at(0).get<std::string>() != lacking) kept.push_back(tensor);
  }
  golden["tensors"] = kept;
  write_folder(root_ + "/model", golden);
  EXPECT_TRUE(check_model(root_ + "/model").ok());
  const auto model = load_model(root_ + "/model", LoadOptions{});
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_EQ((*model)->head, nullptr);
  EXPECT_EQ((*model)->cache_layout().layers.size(), static_cast<size_t>(n_layers));
  const std::string text = draft_head_text(**model);
  EXPECT_NE(text.find("not used"), text.npos) << text;
  EXPECT_NE(text.find(lacking), text.npos) << text;
}

TEST_F(DraftHeads, AHeadOfATypeThatIsNotReadIsLeftUnused) {
  const Json golden = head_goldens().front();
  const auto n_layers = golden.at("config").at("num_hidden_layers").get<int64_t>();
  const std::string of_head = "model.layers." + std::to_string(n_layers) + ".";
  std::vector<GoldenTensor> model_tensors, head_tensors;
  Json index = {{"metadata", Json::object()}, {"weight_map", Json::object()}};
  for (const Json& row : golden.at("tensors")) {
    GoldenTensor tensor = tensor_of(row, golden);
    const bool is_head = tensor.name.starts_with(of_head);
    index["weight_map"][tensor.name] = is_head ? "head.safetensors" : "main.safetensors";
    if (is_head) tensor.bytes.resize(tensor.bytes.size() / sizeof(float));
    (is_head ? head_tensors : model_tensors).push_back(std::move(tensor));
  }
  const std::string folder = root_ + "/model";
  fs::create_directories(folder);
  write_golden_text(folder + "/config.json", golden.at("config").dump());
  write_golden_text(folder + "/model.safetensors.index.json", index.dump());
  write_safetensors(folder + "/main.safetensors", model_tensors, "f32");
  write_safetensors(folder + "/head.safetensors", head_tensors, "f8_e4m3");
  const auto model = load_model(folder, LoadOptions{});
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_EQ((*model)->head, nullptr);
  const std::string text = draft_head_text(**model);
  EXPECT_NE(text.find("not used"), text.npos) << text;
  const auto exported = load_model(export_of(folder), LoadOptions{});
  ASSERT_TRUE(exported) << exported.error().message();
  EXPECT_EQ(draft_head_text(**exported), "");
  EXPECT_EQ((*exported)->h.n_layers, n_layers);
}

TEST_F(DraftHeads, AreLeftOutWhereTheyAreNotWanted) {
  const Json golden = head_goldens().front();
  write_folder(root_ + "/model", golden);
  LoadOptions options;
  options.draft_head = false;
  const auto without = load_model(root_ + "/model", options);
  const auto with = load_model(root_ + "/model", LoadOptions{});
  ASSERT_TRUE(without);
  ASSERT_TRUE(with);
  EXPECT_EQ((*without)->head, nullptr);
  EXPECT_LT(model_info(**without).weight_bytes, model_info(**with).weight_bytes);
  EXPECT_EQ(model_info(**without).weight_bytes_per_token,
            model_info(**with).weight_bytes_per_token);
}

}  // namespace
}  // namespace ruv
