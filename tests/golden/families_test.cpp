// Tiny random models of every family against the reference implementation's logits: odd but legal
// configurations, and those that went wrong once (tests/oracle/compare_families.py
// --write-goldens). The files hold configs and a few logits; weights and prompts are made from a
// seed, as tests/oracle/families/weights.py makes them. Folder and exported GGUF file both count.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "family/family.h"
#include "format/model_file.h"
#include "format/quantize.h"
#include "ruv/classify.h"
#include "ruv/engine.h"
#include "ruv/logits.h"
#include "ruv/model.h"
#include "ruv/rank.h"
#include "test_golden_files.h"

namespace ruv::families_test {
namespace {

namespace fs = std::filesystem;

using Rows = std::vector<std::vector<float>>;
// What the golden has of the text: logits, hidden states, or the scores of a classifier.
Rows rows_of(const Model& model, const std::vector<Token>& ids, const Json& golden,
             int64_t chunk_tokens = 512, KvType kv = KvType::f16) {
  LogitsOptions options;
  options.n_threads = 1;
  options.chunk_tokens = chunk_tokens;
  options.kv_type = kv;
  options.all = true;
  Rows rows;
  const auto add = [&](int64_t, std::span<const float> row) {
    rows.emplace_back(row.begin(), row.end());
  };
  options.second_text = golden.value("second", Json(0)).get<int64_t>();
  options.n_source = golden.value("source", Json(0)).get<int64_t>();
  const bool scores = golden.contains("scores");
  const bool hidden = scores || golden.contains("hidden");
  const Status status =
      hidden ? compute_hidden(model, ids, options, add) : compute_logits(model, ids, options, add);
  EXPECT_TRUE(status.ok()) << status.message();
  if (!scores || rows.empty()) return rows;
  if (classifier_info(model)->pooling == Pooling::none) {
    std::vector<float> all;
    for (const std::vector<float>& row : rows) all.insert(all.end(), row.begin(), row.end());
    return {class_scores(model, all)};
  }
  if (classifier_info(model)->pooling == Pooling::mean) {
    for (size_t c = 0; c < rows[0].size(); ++c) {
      double sum = 0;
      for (const std::vector<float>& row : rows) sum += double{row[c]};
      rows[0][c] = static_cast<float>(sum / static_cast<double>(rows.size()));
    }
  }
  return {class_scores(model, rows[0])};
}

// Largest difference to the logits that were kept, over the standard deviation of all of them.
double difference(const Rows& got, const Json& answer) {
  double worst = 0;
  for (size_t i = 0; i < answer.at("positions").size(); ++i) {
    const auto position = answer.at("positions")[i].get<size_t>();
    const auto want = answer.at("logits")[i].get<std::vector<double>>();
    if (position >= got.size() || want.size() > got[position].size()) return INFINITY;
    for (size_t j = 0; j < want.size(); ++j) {
      const double gap = std::abs(double{got[position][j]} - want[j]);
      if (!(gap <= worst)) worst = std::isnan(gap) ? INFINITY : gap;
    }
  }
  return worst / answer.at("std").get<double>();
}

void expect_answers(const std::string& path, const Json& golden, const std::string& form) {
  LoadOptions options;
  options.n_threads = 1;
  EXPECT_EQ(check_model(path).message(), "") << form;
  const auto model = load_model(path, options);
  ASSERT_TRUE(model) << form << ": " << model.error().message();
  const auto bound = golden.at("bounds").at(form).get<double>();
  for (size_t i = 0; i < golden.at("lengths").size(); ++i) {
    const auto length = golden.at("lengths")[i].get<size_t>();
    const Rows got = rows_of(**model, prompt_of(golden, length), golden);
    EXPECT_LE(difference(got, golden.at("answers")[i]), bound) << form << ", " << length << " ids";
  }
}

// A refusal names what the user's folder has. A file without an output matrix loads and has no
// logits.
void expect_refusal(const std::string& folder, const Json& golden) {
  const auto model = load_model(folder, LoadOptions{});
  const Status status =
      model ? compute_logits(**model, std::vector<Token>{1}, {}, [](int64_t, auto) {})
            : Status(model.error());
  ASSERT_FALSE(status.ok()) << "computes";
  bool named = false;
  for (const Json& name : golden.at("refused_by"))
    named |= status.message().find(name.get<std::string>()) != std::string::npos;
  EXPECT_TRUE(named) << status.message() << " names none of " << golden.at("refused_by");
  if (!model) {
    EXPECT_EQ(check_model(folder).message(), status.message());
  }
}

// Each family, whose goldens must be there, and classes that have goldens of their own.
std::set<std::string> golden_names() {
  std::set<std::string> names;
  for (const FamilyRecord* const family : families()) {
    if (!family->classes.empty() && family->block.has_layers) names.emplace(family->name);
  }
  for (const auto& file : fs::directory_iterator(RUV_SOURCE_DIR "/tests/golden/families")) {
    if (file.path().extension() == ".json") names.insert(file.path().stem());
  }
  return names;
}

class Families : public testing::TestWithParam<std::string> {};

TEST_P(Families, LogitsOrRefusal) {
  const std::string path = RUV_SOURCE_DIR "/tests/golden/families/" + GetParam() + ".json";
  const auto text = read_text_file(path);
  ASSERT_TRUE(text) << text.error().message();
  const auto goldens = parse_json(*text, path);
  ASSERT_TRUE(goldens) << goldens.error().message();
  ASSERT_GE(goldens->size(), 8U);
  const std::string root =
      testing::TempDir() + "ruv_families_" + GetParam() + "_" + std::to_string(getpid());
  for (const Json& golden : *goldens) {
    SCOPED_TRACE(golden.at("name").get<std::string>() + " " + golden.at("config").dump());
    const std::string folder = root + "/model";
    fs::remove_all(root);
    write_folder(folder, golden);
    if (golden.contains("refused_by")) {
      expect_refusal(folder, golden);
      continue;
    }
    expect_answers(folder, golden, "folder");
    const auto file = ModelFile::open(folder);
    ASSERT_TRUE(file) << file.error().message();
    const Status status = quantize_model(**file, "f32", root + "/model.gguf");
    ASSERT_TRUE(status.ok()) << status.message();
    expect_answers(root + "/model.gguf", golden, "gguf");
  }
  fs::remove_all(root);
}

// Layers that read what an earlier one keeps, or whose index chooses, read pages of steps before,
// too.
class SharedKeys : public testing::TestWithParam<const char*> {};

TEST_P(SharedKeys, ChunksGiveTheSameBytes) {
  const std::string path =
      fmt::format("{}/tests/golden/families/{}.json", RUV_SOURCE_DIR, GetParam());
  const auto text = read_text_file(path);
  ASSERT_TRUE(text);
  const Json goldens = *parse_json(*text, path);
  const std::string root =
      fmt::format("{}ruv_chunks_{}_{}", testing::TempDir(), GetParam(), getpid());
  int n_sharing = 0;
  for (const Json& golden : goldens) {
    if (golden.contains("refused_by")) continue;
    const Json& config = golden.at("config");
    if (config.value("num_kv_shared_layers", Json(0)).get<int64_t>() == 0 &&
        config.value("index_topk", Json(40)).get<int64_t>() >= 40) {
      continue;
    }
    ++n_sharing;
    fs::remove_all(root);
    write_folder(root, golden);
    const auto model = load_model(root, LoadOptions{});
    ASSERT_TRUE(model) << model.error().message();
    const std::vector<Token> ids = prompt_of(golden, 40);
    for (const KvType kv : {KvType::f16, KvType::int8, KvType::int4}) {
      const Rows whole = rows_of(**model, ids, golden, 512, kv);
      ASSERT_EQ(whole.size(), ids.size());
      for (const int64_t chunk : {1, 3, 16, 23}) {
        EXPECT_EQ(rows_of(**model, ids, golden, chunk, kv), whole)
            << golden.at("name").get<std::string>() << ": chunks of " << chunk;
      }
    }
  }
  EXPECT_GE(n_sharing, 2);
  fs::remove_all(root);
}
INSTANTIATE_TEST_SUITE_P(Families, SharedKeys,
                         testing::Values("gemma3n", "gemma4", "deepseek32", "glm-dsa"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Scores that are the mean of those of each state, by the engine's way.
TEST(LateScores, TheEngineGivesTheReferences) {
  const std::string path = RUV_SOURCE_DIR "/tests/golden/families/eurobert.json";
  const Json goldens = *parse_json(*read_text_file(path), path);
  const std::string folder = fmt::format("{}ruv_late_{}", testing::TempDir(), getpid());
  int n_scored = 0, n_single = 0;
  for (const Json& golden : goldens) {
    const std::string pooling =
        golden.at("config").value("classifier_pooling", Json("late")).get<std::string>();
    if (!golden.contains("scores") || golden.contains("refused_by") || pooling != "late") continue;
    // These positions change with the length of a text, or for an engine with that of its context.
    const Json& config = golden.at("config");
    if (config.dump().find("longrope") != std::string::npos) continue;
    const size_t longest = config.value("max_position_embeddings", Json(8192)).get<size_t>();
    fs::remove_all(folder);
    write_folder(folder, golden);
    EngineOptions options{.n_threads = 1, .max_batch_tokens = 160};
    options.kv.type = KvType::f16;
    auto model = load_model(folder, LoadOptions{});
    ASSERT_TRUE(model) << model.error().message();
    const auto engine = Engine::create(std::move(*model), options);
    ASSERT_TRUE(engine) << engine.error().message();
    const Status ranks = can_rank((*engine)->model());
    EXPECT_EQ(ranks.code(), Code::unsupported);
    n_single += classifier_info((*engine)->model())->n_labels == 1 &&
                ranks.message().find("each state") != std::string::npos;
    for (size_t i = 0; i < golden.at("lengths").size(); ++i) {
      const auto length = golden.at("lengths")[i].get<size_t>();
      if (length > longest) continue;
      const auto scores = (*engine)->classify(prompt_of(golden, length), 0);
      ASSERT_TRUE(scores) << scores.error().message();
      EXPECT_LE(difference({*scores}, golden.at("answers")[i]),
                golden.at("bounds").at("folder").get<double>());
      ++n_scored;
    }
  }
  EXPECT_GE(n_scored, 6);
  EXPECT_GE(n_single, 1);
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(All, Families, testing::ValuesIn(golden_names()), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace ruv::families_test
