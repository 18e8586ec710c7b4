// Engines that draft by the head of a model's file: answers have the bytes that they have without
// it, whatever else runs and whatever of the text was kept; and right drafts are accepted.
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/test_equal_steps.h"
#include "model/model.h"
#include "property/asked_engine.h"
#include "ruv/model.h"
#include "ruv/stream.h"
#include "test_golden_files.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

class DraftHeadEngine : public testing::Test {
 protected:
  DraftHeadEngine() { fs::create_directories(root_); }
  ~DraftHeadEngine() override { fs::remove_all(root_); }

  static Json golden(const std::string& name) {
    const std::string path = RUV_SOURCE_DIR "/tests/golden/heads/heads.json";
    const Json all = *parse_json(*read_text_file(path), path);
    for (const Json& one : all) {
      if (one.at("name").get<std::string>() == name) return one;
    }
    ADD_FAILURE() << name;
    return {};
  }
  std::shared_ptr<const Model> load(bool with_head = true) {
    LoadOptions options;
    options.n_threads = 1;
    options.draft_head = with_head;
    auto model = load_model(root_, options);
    EXPECT_TRUE(model) << model.error().message();
    EXPECT_EQ((*model)->head != nullptr, with_head);
    return *model;
  }
  static EngineOptions options(KvType kv = KvType::f16) {
    EngineOptions o = {.n_threads = 1, .n_ctx = 96, .max_sequences = 3, .max_batch_tokens = 32};
    o.kv.max_tokens = 1024;
    o.kv.type = kv;
    return o;
  }

  // Requests for 40 tokens after 20, every other one with sampling.
  static std::vector<Asked> requests(const Json& golden, int n) {
    std::vector<Asked> all;
    for (int i = 0; i < n; ++i) {
      Asked one;
      one.prompt = prompt_of(golden, 20 + static_cast<size_t>(i));
      one.params.max_tokens = 40;
      one.params.ignore_eos = true;
      one.params.temperature = i % 2 == 0 ? 0 : 0.9F;
      one.params.seed = 7 + static_cast<uint64_t>(i);
      all.push_back(std::move(one));
    }
    return all;
  }
  // The answers of an engine to all requests at once.
  static std::vector<std::vector<Token>> answers(Engine& engine, std::vector<Asked> all) {
    AskedEngine asked(engine);
    for (Asked& one : all) asked.ask(one);
    std::vector<std::vector<Token>> ids;
    for (const auto& answer : asked.wait()) ids.push_back(answer.ids);
    return ids;
  }
  // The same from an engine that never drafts, one by one.
  std::vector<std::vector<Token>> plain_answers(const std::vector<Asked>& all,
                                                KvType kv = KvType::f16) {
    const auto engine = equal_steps_engine(load(false), options(kv));
    std::vector<std::vector<Token>> ids;
    for (Asked one : all) {
      one.params.speculative = false;
      ids.push_back(generate(*engine, one.prompt, one.params).value().ids);
    }
    EXPECT_EQ(engine->speculative_stats().n_drafted, 0);
    return ids;
  }

  std::string root_ = testing::TempDir() + "ruv_head_engine_" + std::to_string(getpid());
};

TEST_F(DraftHeadEngine, AnswersAreTheSameBytesAsWithoutTheHead) {
  for (const char* const name : {"glm4_moe_0", "glm4_moe_1", "deepseek_v3_0", "deepseek_v3_1",
                                 "qwen3_next_0", "qwen3_5_1"}) {
    SCOPED_TRACE(name);
    const Json golden = DraftHeadEngine::golden(name);
    fs::remove_all(root_);
    write_folder(root_, golden);
    const auto all = requests(golden, 6);
    for (const KvType kv : {KvType::f16, KvType::int8}) {
      const auto want = plain_answers(all, kv);
      const auto engine = equal_steps_engine(load(), options(kv));
      EXPECT_EQ(answers(*engine, all), want);
      EXPECT_GT(engine->speculative_stats().n_drafted_by_head, 0);
      // Texts of which the beginning is kept, the head's keys and values with it.
      EXPECT_EQ(answers(*engine, all), want);
      EXPECT_GE(engine->kv_stats().hits, 6);
    }
  }
}

TEST_F(DraftHeadEngine, PreemptedTextsGoOnAsTheyWere) {
  for (const char* const name : {"glm4_moe_0", "deepseek_v3_1", "qwen3_next_1"}) {
    SCOPED_TRACE(name);
    const Json golden = DraftHeadEngine::golden(name);
    fs::remove_all(root_);
    write_folder(root_, golden);
    const auto all = requests(golden, 6);
    const auto want = plain_answers(all);
    EngineOptions tight = options();
    tight.kv.max_tokens = 96;
    const auto engine = equal_steps_engine(load(), tight);
    EXPECT_EQ(answers(*engine, all), want);
    EXPECT_GT(engine->kv_stats().preemptions, 0);
    EXPECT_GT(engine->speculative_stats().n_drafted_by_head, 0);
  }
}

TEST_F(DraftHeadEngine, PagesOnDiskHoldWhatTheHeadKeeps) {
  const Json golden = DraftHeadEngine::golden("deepseek_v3_0");
  write_folder(root_, golden);
  const auto all = requests(golden, 3);
  const auto want = plain_answers(all);
  EngineOptions on_disk = options();
  on_disk.kv.disk_folder = root_ + "/pages";
  EXPECT_EQ(answers(*equal_steps_engine(load(), on_disk), all), want);
  const auto engine = equal_steps_engine(load(), on_disk);
  EXPECT_EQ(answers(*engine, all), want);
  EXPECT_GT(engine->kv_stats().restored_pages, 0);
  EXPECT_GT(engine->speculative_stats().n_drafted_by_head, 0);
}

// A model whose next token follows from the last one alone, and a head that computes the same.
TEST_F(DraftHeadEngine, RightDraftsAreAccepted) {
  const Json golden = DraftHeadEngine::golden("glm4_moe_1");
  std::vector<GoldenTensor> tensors;
  for (const Json& row : golden.at("tensors")) {
    tensors.push_back(tensor_of(row, golden));
    GoldenTensor& tensor = tensors.back();
    auto* const numbers = reinterpret_cast<float*>(tensor.bytes.data());
    const size_t n = tensor.bytes.size() / sizeof(float);
    const auto has = [&](std::string_view part) {
      return tensor.name.find(part) != std::string::npos;
    };
    if (has("o_proj") || has("down_proj")) std::fill_n(numbers, n, 0.0F);
    if (has("enorm") || has("shared_head.norm")) std::fill_n(numbers, n, 1.0F);
    if (tensor.name == "model.norm.weight") std::fill_n(numbers, n, 1.0F);
    if (!has("eh_proj")) continue;
    std::fill_n(numbers, n, 0.0F);
    for (int64_t i = 0; i < tensor.shape[0]; ++i) numbers[i * tensor.shape[1] + i] = 1;
  }
  write_golden_text(root_ + "/config.json", golden.at("config").dump());
  write_safetensors(root_ + "/model.safetensors", tensors, "f32");
  auto all = requests(golden, 6);
  for (Asked& one : all) one.params.temperature = 0;
  const auto want = plain_answers(all);
  const auto engine = equal_steps_engine(load(), options());
  EXPECT_EQ(answers(*engine, all), want);
  const SpeculativeStats stats = engine->speculative_stats();
  // Until the text repeats itself and is drafted from.
  EXPECT_GT(stats.n_drafted_by_head, 4);
  EXPECT_EQ(stats.n_accepted_of_head, stats.n_drafted_by_head);
}

}  // namespace
}  // namespace ruv
