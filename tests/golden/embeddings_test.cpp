// Vectors of texts against transformers and sentence-transformers' formulas
// (make_embedding_goldens.py), from GGUF files and from folders.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "format/model_file.h"
#include "format/quantize.h"
#include "format/test_folder.h"
#include "ruv/score.h"

namespace ruv::embeddings_test {
namespace {

const std::string kFolder = RUV_SOURCE_DIR "/tests/golden/";

std::unique_ptr<Engine> engine_of(const std::string& path) {
  EngineOptions options{.n_threads = 2, .max_batch_tokens = 32};
  options.kv.type = KvType::f16;
  return std::move(*Engine::create(*load_model(path), options));
}

Json goldens() {
  const std::string path = kFolder + "embeddings/golden.json";
  return *parse_json(*read_text_file(path), path);
}

// max |difference|
double distance(const Embedding& made, const Json& golden) {
  EXPECT_EQ(made.numbers.size(), golden.size());
  double most = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    most = std::max(most, std::abs(double{made.numbers[i]} - golden[i].get<double>()));
  }
  return most;
}

TEST(Embeddings, EveryPoolingIsTheReferences) {
  const Json goldens = ruv::embeddings_test::goldens();
  for (const char* name : {"qwen3", "gemma3"}) {
    for (const char* file : {"/model.gguf", ""}) {
      const auto engine = engine_of(kFolder + "models/" + name + file);
      for (const Json& one : goldens.at(name)) {
        const auto ids = one.at("ids").get<std::vector<Token>>();
        for (const char* mode : {"mean", "cls", "last", "weighted_mean"}) {
          SCOPED_TRACE(fmt::format("{}{} {} {}", name, file, mode, ids.size()));
          const EmbedParams params{.pooling = find_pooling(mode), .normalise = false};
          EXPECT_LT(distance(*engine->embed(ids, params), one.at(mode)), 1e-3);
        }
      }
    }
  }
}

// A folder of sentence-transformers around a golden model.
class SentenceFolder {
 public:
  explicit SentenceFolder(const std::string& model) {
    for (const char* name : {"config.json", "model.safetensors"}) {
      std::filesystem::copy(kFolder + "models/" + model + "/" + name, folder_.path());
    }
    for (const char* step : {"1_Pooling", "2_Dense", "3_Normalize"}) {
      std::filesystem::create_directory(folder_.path() + "/" + step);
    }
    std::filesystem::copy(kFolder + "embeddings/dense.safetensors",
                          folder_.path() + "/2_Dense/model.safetensors");
    folder_.write("1_Pooling/config.json", R"({"word_embedding_dimension": 32,
        "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true})");
    folder_.write("2_Dense/config.json",
                  R"({"in_features": 32, "out_features": 16, "bias": true,
                      "activation_function": "torch.nn.modules.activation.Tanh"})");
    folder_.write("sentence_bert_config.json", R"({"max_seq_length": 45, "do_lower_case": false})");
    folder_.write("config_sentence_transformers.json",
                  R"({"__version__": {"pytorch": "2"}, "prompts": {"query": "q: "},
                      "default_prompt_name": null, "similarity_fn_name": "cosine"})");
    folder_.write("modules.json", R"([
      {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
      {"idx": 1, "name": "1", "path": "1_Pooling",
       "type": "sentence_transformers.models.Pooling"},
      {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"},
      {"idx": 3, "name": "3", "path": "3_Normalize",
       "type": "sentence_transformers.models.Normalize"}])");
  }
  const TestFolder& folder() const { return folder_; }

 private:
  TestFolder folder_;
};

TEST(Embeddings, StepsOfAFolderAreTheReferences) {
  const Json goldens = ruv::embeddings_test::goldens();
  for (const char* name : {"qwen3", "gemma3"}) {
    const SentenceFolder folder(name);
    const auto engine = engine_of(folder.folder().path());
    for (const Json& one : goldens.at(name)) {
      const auto ids = one.at("ids").get<std::vector<Token>>();
      EXPECT_LT(distance(*engine->embed(ids, {.dimensions = 8}), one.at("sentence")), 1e-3);
    }
    const EmbedInfo info = *embed_info(engine->model());
    EXPECT_EQ(info.pooling, Pooling::mean);
    EXPECT_TRUE(info.pooling_is_stated && info.normalises);
    EXPECT_EQ(info.n_dims, 16);
    EXPECT_EQ(info.similarity, "cosine");
    EXPECT_EQ(info.prompts.at(0), std::pair(std::string("query"), std::string("q: ")));
    EXPECT_EQ(engine->embed(std::vector<Token>(46, 3)).error().message(),
              "46 tokens; the model's vectors are of texts of at most 45");
  }
}

const std::string kCross = kFolder + "embeddings/cross_encoder";

Json cross_goldens() {
  const std::string path = kCross + "/golden.json";
  return *parse_json(*read_text_file(path), path);
}

TEST(Embeddings, AnEncodersStatesArePooledAsTheReferencesAre) {
  const auto engine = engine_of(kCross);
  const EmbedParams params{.pooling = Pooling::mean, .normalise = false};
  const Json goldens = cross_goldens();
  for (const Json& one : goldens.at("texts")) {
    const auto text = one.at("text").get<std::string>();
    const std::vector<Token> ids = *tokenize_embedding(engine->model(), text);
    EXPECT_EQ(ids, one.at("ids").get<std::vector<Token>>());
    EXPECT_LT(distance(*engine->embed(ids, params), one.at("mean")), 1e-3);
  }
  EXPECT_EQ(embed_info(engine->model())->pooling, Pooling::mean);
}

TEST(Embeddings, ACrossEncoderScoresPairsAsTheReferenceDoes) {
  const auto engine = engine_of(kCross);
  const Json goldens = cross_goldens().at("pairs");
  std::vector<std::string> texts;
  for (const Json& one : goldens) {
    for (const Json& text : one.at("texts")) texts.push_back(text.get<std::string>());
  }
  std::vector<TextPair> pairs;
  for (size_t i = 0; i < texts.size(); i += 2) pairs.push_back({texts[i], texts[i + 1]});
  EXPECT_TRUE(can_rank(engine->model()).ok());
  const PairTexts joined = *tokenize_pairs(engine->model(), pairs, PairKind::document);
  const std::vector<double> scores = score_pairs(*engine, pairs, PairKind::document).value();
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Json& one = goldens[i];
    EXPECT_EQ(joined.ids[i], one.at("ids").get<std::vector<Token>>());
    const auto types = one.at("types").get<std::vector<int64_t>>();
    EXPECT_EQ(joined.second_texts[i], std::ranges::find(types, 1) - types.begin());
    EXPECT_NEAR(scores[i], 1 / (1 + std::exp(-one.at("score").get<double>())), 1e-3);
  }
  const PairTexts cut = *tokenize_pairs(engine->model(), pairs, PairKind::document, 7);
  EXPECT_EQ(cut.ids[0], (std::vector<Token>{2, 14, 11, 3, 10, 9, 3}));
  EXPECT_EQ(tokenize_pairs(engine->model(), pairs, PairKind::document, 4).error().code(),
            Code::invalid);
}

// More pairs than the engine lets wait.
TEST(Embeddings, ManyPairsGetTheScoresOfEachAlone) {
  const EngineOptions options{.n_threads = 2, .max_sequences = 2, .max_queue = 3};
  const auto engine = std::move(*Engine::create(*load_model(kCross), options));
  const std::string texts[] = {"the cat", "a dog sat", "the dog", "a cat"};
  std::vector<TextPair> pairs;
  for (size_t i = 0; i < 40; ++i) pairs.push_back({texts[i % 4], texts[i / 4 % 4]});
  const std::vector<double> scores = score_pairs(*engine, pairs, PairKind::document).value();
  ASSERT_EQ(scores.size(), pairs.size());
  for (size_t i = 0; i < pairs.size(); i += 7) {
    EXPECT_EQ(scores[i], score_pairs(*engine, {&pairs[i], 1}, PairKind::document).value()[0]);
  }
}

// A GGUF file makes the vectors that its folder makes, or is not written.
TEST(Embeddings, ExportedFilesPoolAsTheFolderDoes) {
  const SentenceFolder made("qwen3");
  const TestFolder& folder = made.folder();
  const std::string file = folder.path() + "/f32.gguf";
  const auto quantize = [&] {
    return quantize_model(**ModelFile::open(folder.path()), "f32", file, {.replace = true});
  };
  EXPECT_NE(quantize().message().find("dense layers after pooling"), std::string::npos);
  folder.write("modules.json", R"([
      {"path": "", "type": "sentence_transformers.models.Transformer"},
      {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
  folder.write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true})");
  ASSERT_TRUE(quantize().ok()) << quantize().message();
  const EmbedInfo info = *embed_info(**load_model(file));
  EXPECT_EQ(info.pooling, Pooling::cls);
  EXPECT_TRUE(info.pooling_is_stated && !info.normalises);
  const std::vector<Token> ids = {3, 9, 4, 7};
  EXPECT_EQ(engine_of(file)->embed(ids)->numbers, engine_of(folder.path())->embed(ids)->numbers);
  folder.write("sentence_bert_config.json", R"({"do_lower_case": true})");
  EXPECT_NE(quantize().message().find("'do_lower_case'"), std::string::npos);
  folder.write("sentence_bert_config.json", "{}");
  folder.write("config_sentence_transformers.json",
               R"({"prompts": {"query": "q: "}, "default_prompt_name": "query"})");
  EXPECT_NE(quantize().message().find("'default_prompt_name'"), std::string::npos);
}

// What is wrong with the files keeps vectors from being made, and nothing else.
TEST(Embeddings, AModelWithOtherStepsStillGenerates) {
  const SentenceFolder folder("qwen3");
  folder.folder().write("2_Dense/config.json", R"({"in_features": 32, "out_features": 15})");
  const auto engine = engine_of(folder.folder().path());
  const auto made = engine->embed({3, 4});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), Code::corrupt);
  EXPECT_NE(made.error().message().find("'linear.weight' is not of the size"), std::string::npos);
  Request request{.prompt = {3, 4}};
  request.params.max_tokens = 1;
  EXPECT_TRUE(engine->submit(request));
}

}  // namespace
}  // namespace ruv::embeddings_test
