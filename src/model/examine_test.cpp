// What is found of models that run, that do not for one reason, and for many.
#include "model/examine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "format/gguf_writer.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

const std::string kGoldens = RUV_SOURCE_DIR "/tests/golden/models/";

class Examine : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root_); }
  void TearDown() override { fs::remove_all(root_); }

  // A golden GGUF file with other keys, without some tensors and with others, of 32 numbers each.
  std::string changed(const std::string& golden, const MetaMap& keys,
                      const std::vector<std::string>& without = {},
                      const std::vector<std::string>& extra = {}) {
    const std::string path = root_ + "/changed.gguf";
    const auto file = ModelFile::open(kGoldens + golden + "/model.gguf", {without});
    EXPECT_TRUE(file);
    auto out = GgufWriter::create(path, {.replace = true});
    EXPECT_TRUE(out);
    MetaMap metadata = keys;
    metadata.insert((*file)->metadata().begin(), (*file)->metadata().end());
    for (const auto& [key, value] : metadata) out->add(key, value);
    for (const TensorInfo& tensor : (*file)->tensors()) {
      out->declare_tensor(tensor.name, tensor.dtype, tensor.shape);
    }
    const int64_t shape[] = {32};
    for (const std::string& name : extra) out->declare_tensor(name, DType::f32, shape);
    EXPECT_TRUE(out->begin_tensors().ok());
    for (const TensorInfo& tensor : (*file)->tensors()) EXPECT_TRUE(out->write(tensor.bytes).ok());
    for (size_t i = 0; i < extra.size(); ++i) {
      EXPECT_TRUE(out->write(std::vector<std::byte>(128)).ok());
    }
    EXPECT_TRUE(out->commit().ok());
    return path;
  }

  // A golden folder with one text of a file replaced by another of the same length.
  std::string rewritten(const std::string& golden, const std::string& file, const std::string& from,
                        const std::string& to) {
    const std::string folder = root_ + "/" + golden;
    fs::remove_all(folder);
    fs::copy(kGoldens + golden, folder);
    std::string text = read_text_file(folder + "/" + file).value();
    for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + 1)) {
      text.replace(at, from.size(), to);
    }
    std::ofstream(folder + "/" + file, std::ios::binary) << text;
    return folder;
  }

  const std::string root_ = testing::TempDir() + "ruv_examine_" + std::to_string(getpid());
};

std::string texts_of(const ExaminedModel& examined) {
  std::string texts;
  for (const Status& fault : examined.faults.all()) texts += fault.message() + "\n";
  return texts;
}

void expect_names(const ExaminedModel& examined, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    EXPECT_NE(texts_of(examined).find("'" + name + "'"), std::string::npos)
        << name << " is not named in\n"
        << texts_of(examined);
  }
  EXPECT_EQ(examined.faults.all().size(), names.size()) << texts_of(examined);
}

TEST_F(Examine, AModelThatRunsHasNoFaultsAndTheSizesOfALoadedOne) {
  for (const char* name : {"llama2", "gemma3", "phi3_longrope", "gpt2", "lfm2", "qwen3moe"}) {
    for (const char* form : {"", "/model.gguf"}) {
      const std::string path = kGoldens + name + form;
      const ExaminedModel examined = examine_model(path);
      ASSERT_TRUE(examined.faults.empty()) << texts_of(examined);
      const auto loaded = load_model(path);
      ASSERT_TRUE(loaded) << loaded.error().message();
      const ModelInfo info = model_info(*examined.model), wanted = model_info(**loaded);
      EXPECT_EQ(info.weight_bytes, wanted.weight_bytes) << path;
      EXPECT_EQ(info.n_vocab, wanted.n_vocab);
      EXPECT_EQ(info.kv_bytes_per_token, wanted.kv_bytes_per_token);
      EXPECT_EQ(examined.model->file->hf_class() != nullptr, *form == '\0');
    }
  }
}

TEST_F(Examine, AllMissingTensorsAreNamedAsTheFileNamesThem) {
  const std::vector<std::string> lost = {"model.layers.0.mlp.up_proj.weight", "model.norm.weight",
                                         "model.layers.1.self_attn.k_proj.weight"};
  LoadOptions options;
  options.ignored_keys = lost;
  expect_names(examine_model(kGoldens + "llama2", options), lost);
  const std::vector<std::string> blocks = {"blk.0.ffn_up.weight", "blk.1.attn_norm.weight",
                                           "token_embd.weight"};
  expect_names(examine_model(changed("llama2", {}, blocks)), blocks);
}

TEST_F(Examine, AllTensorsWithoutARoleAndAllUnknownKeysAreNamed) {
  const ExaminedModel examined = examine_model(
      changed("llama2", {{"llama.novelty", int64_t{1}}, {"llama.zeal", 2.0}},
              {"blk.0.attn_q.weight"}, {"blk.0.attn_sub_norm.weight", "blk.1.layer_scale.weight"}));
  expect_names(examined, {"llama.novelty", "llama.zeal", "blk.0.attn_q.weight",
                          "blk.0.attn_sub_norm.weight", "blk.1.layer_scale.weight"});
  EXPECT_TRUE(examined.has_numbers);
  const auto loaded = load_model(root_ + "/changed.gguf");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message(), examined.faults.first().message());
}

TEST_F(Examine, ABiasOfAMissingMatrixIsNotOneFaultMore) {
  expect_names(examine_model(changed("starcoder2", {}, {"blk.0.ffn_up.weight"})),
               {"blk.0.ffn_up.weight"});
}

TEST_F(Examine, AFormatThatIsNotReadIsNamed) {
  const ExaminedModel examined =
      examine_model(rewritten("llama2", "model.safetensors", "\"F32\"", "\"U32\""));
  ASSERT_NE(examined.model, nullptr);
  EXPECT_TRUE(examined.has_numbers);
  EXPECT_NE(texts_of(examined).find("'model.norm.weight': dtype U32"), std::string::npos);
  EXPECT_EQ(texts_of(examined).find("missing"), std::string::npos) << texts_of(examined);
}

TEST_F(Examine, AConfigWithoutWeightsIsExamined) {
  const std::string folder = rewritten("llama2", "config.json", "\"silu\"", "\"tanh\"");
  fs::remove(folder + "/model.safetensors");
  const ExaminedModel examined = examine_model(folder);
  ASSERT_NE(examined.model, nullptr);
  EXPECT_NE(texts_of(examined).find("'hidden_act' is 'tanh'"), std::string::npos);
  EXPECT_NE(texts_of(examined).find("neither model.safetensors"), std::string::npos);
  EXPECT_EQ(examined.faults.all().size(), 2U) << texts_of(examined);
}

TEST_F(Examine, AnUnknownArchitectureHasNearOnes) {
  const std::string path =
      changed("llama2", {{"general.architecture", std::string("gema2")}}, {}, {});
  const ExaminedModel examined = examine_model(path);
  EXPECT_NE(texts_of(examined).find("architecture 'gema2' is not supported; the nearest that are: "
                                    "gemma2, gemma"),
            std::string::npos)
      << texts_of(examined);
  EXPECT_FALSE(examined.has_numbers);
}

TEST_F(Examine, WhatIsNoFileAndWhatIsBrokenHaveOneReason) {
  for (const std::string& path : {root_ + "/none.gguf", root_}) {
    const ExaminedModel examined = examine_model(path);
    EXPECT_EQ(examined.model, nullptr);
    EXPECT_EQ(examined.faults.all().size(), 1U);
    EXPECT_EQ(examined.faults.first().message(), load_model(path).error().message());
  }
}

// Nothing but a status may come of any bytes.
TEST_F(Examine, FilesThatAreCutAnywhere) {
  const std::string whole = read_text_file(kGoldens + "llama2/model.gguf").value();
  const std::string path = root_ + "/cut.gguf";
  for (size_t n = 0; n < std::min<size_t>(whole.size(), 6000); n += 97) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, n);
    EXPECT_FALSE(examine_model(path).faults.empty()) << n;
  }
}

}  // namespace
}  // namespace ruv
