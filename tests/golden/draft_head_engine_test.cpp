// Engines that draft by the head of a model's file, or by one of another file: answers have the
// bytes that they have without it, whatever else runs and whatever of the text was kept; and right
// drafts are accepted.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "base/file.h"
#include "engine/test_equal_steps.h"
#include "model/model.h"
#include "property/asked_engine.h"
#include "ruv/model.h"
#include "ruv/stream.h"
#include "test_golden_files.h"
#include "test_head_text.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

class DraftHeadEngine : public testing::Test {
 protected:
  DraftHeadEngine() { fs::create_directories(root_); }
  ~DraftHeadEngine() override { fs::remove_all(root_); }

  static Json golden(const std::string& name) {
    for (const char* const file : {"heads", "eagle", "medusa"}) {
      const std::string path = RUV_SOURCE_DIR "/tests/golden/heads/" + std::string(file) + ".json";
      const Json all = *parse_json(*read_text_file(path), path);
      for (const Json& one : all) {
        if (one.at("name").get<std::string>() == name) return one;
      }
    }
    ADD_FAILURE() << name;
    return {};
  }
  // The folder of the model, and that of its head where that has one.
  void write(const Json& golden) {
    fs::remove_all(root_);
    write_folder(root_, golden);
    head_ = golden.contains("head") ? root_ + "/head" : "";
    if (!head_.empty()) write_head_folder(head_, golden.at("head"));
  }
  std::shared_ptr<const Model> load(bool with_head = true) {
    LoadOptions options;
    options.n_threads = 1;
    options.draft_head = with_head;
    if (with_head) options.draft_head_file = head_;
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
  // Greedy answers are those of the model alone, and the head that load() gives drafts nothing
  // else.
  void expect_all_drafts_right(const Json& golden, int max_sequences = 3) {
    auto all = requests(golden, 6);
    for (Asked& one : all) one.params.temperature = 0;
    const auto want = plain_answers(all);
    EngineOptions at_once = options();
    at_once.max_sequences = max_sequences;
    const auto engine = equal_steps_engine(load(), at_once);
    EXPECT_EQ(answers(*engine, all), want);
    const SpeculativeStats stats = engine->speculative_stats();
    // Until the text repeats itself and is drafted from.
    EXPECT_GT(stats.n_drafted_by_head, 4);
    EXPECT_EQ(stats.n_accepted_of_head, stats.n_drafted_by_head);
  }

  std::string root_ = testing::TempDir() + "ruv_head_engine_" + std::to_string(getpid());
  std::string head_;  // empty: it is in the model's file
};

TEST_F(DraftHeadEngine, AnswersAreTheSameBytesAsWithoutTheHead) {
  for (const char* const name :
       {"glm4_moe_0", "glm4_moe_1", "deepseek_v3_0", "deepseek_v3_1", "deepseek_v32_0",
        "glm_moe_dsa_1", "qwen3_next_0", "qwen3_5_1", "usual_places", "biases", "own_embeddings",
        "own_outputs", "model_outputs", "some_tokens", "without_attention"}) {
    SCOPED_TRACE(name);
    const Json golden = DraftHeadEngine::golden(name);
    write(golden);
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
  for (const char* const name : {"glm4_moe_0", "deepseek_v3_1", "qwen3_next_1", "usual_places",
                                 "shared_output", "two_blocks", "one_output"}) {
    SCOPED_TRACE(name);
    const Json golden = DraftHeadEngine::golden(name);
    write(golden);
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
  for (const char* const name : {"deepseek_v3_0", "glm_moe_dsa_0", "biases", "own_outputs"}) {
    SCOPED_TRACE(name);
    const Json golden = DraftHeadEngine::golden(name);
    write(golden);
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
}

// Pages of the same model with another head are not taken for those of this one.
TEST_F(DraftHeadEngine, PagesOnDiskAreThoseOfOneHead) {
  Json golden = DraftHeadEngine::golden("usual_places");
  write(golden);
  const auto all = requests(golden, 3);
  const auto want = plain_answers(all);
  EngineOptions on_disk = options();
  on_disk.kv.disk_folder = root_ + "/pages";
  EXPECT_EQ(answers(*equal_steps_engine(load(), on_disk), all), want);
  Json other = golden.at("head");
  other["seed"] = other.at("seed").get<uint64_t>() + 1;
  fs::remove_all(head_);
  write_head_folder(head_, other);
  const auto engine = equal_steps_engine(load(), on_disk);
  EXPECT_EQ(answers(*engine, all), want);
  EXPECT_EQ(engine->kv_stats().restored_pages, 0);
}

// Heads without a layer keep nothing of a text: the model's pages are the same with and without.
TEST_F(DraftHeadEngine, PagesOnDiskAreThoseOfTheModelWithHeadsWithoutALayer) {
  const Json golden = DraftHeadEngine::golden("two_blocks");
  write(golden);
  const auto all = requests(golden, 3);
  const auto want = plain_answers(all);
  EngineOptions on_disk = options();
  on_disk.kv.disk_folder = root_ + "/pages";
  EXPECT_EQ(answers(*equal_steps_engine(load(false), on_disk), all), want);
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
  expect_all_drafts_right(golden);
}

// A model that walks through kWalk tokens, whose embeddings are unit vectors, and a head whose
// stream is the model's after two layers, moved one further by its feed-forward.
class Walk {
 public:
  static constexpr size_t kWalk = 16;

  explicit Walk(const Json& golden)
      : distances_(golden.at("head").value("d2t", Json::array()).get<std::vector<int64_t>>()) {
    distances_.resize(std::max(distances_.size(), kWalk));
  }

  // Puts the walk into a tensor of the model or the head.
  void change(GoldenTensor& tensor, bool of_head) const {
    const std::string& name = tensor.name;
    const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
    const std::span numbers(reinterpret_cast<float*>(tensor.bytes.data()), tensor.bytes.size() / 4);
    const auto n_cols = static_cast<size_t>(tensor.shape.back());
    const auto at = [&](size_t row, size_t col) -> float& { return numbers[row * n_cols + col]; };
    if (name.ends_with("norm.weight")) std::ranges::fill(numbers, 1.0F);
    if (has("o_proj") || has("down_proj") || has("lm_head") || has("embed_tokens")) {
      std::ranges::fill(numbers, 0.0F);
    }
    if (name == "model.embed_tokens.weight") {
      for (size_t i = 0; i < numbers.size() / n_cols; ++i) at(i, i % kWalk) = 1;
      for (size_t i = 0; i < kWalk; ++i) {
        std::fill_n(&at(token(i), 0), n_cols, 0.0F);
        at(token(i), i) = 1;
      }
    }
    if (name == "lm_head.weight") {
      for (size_t i = 0; i < kWalk; ++i) at(of_head ? i : token(i), (i + kWalk - 1) % kWalk) = 1;
    }
    if (!of_head) return;
    if (name.find(".linear.") != name.npos) std::ranges::fill(numbers, 0.0F);
    // Head 0 gives the second token after a row's.
    if (name.ends_with(".1.weight")) {
      const auto ahead = static_cast<size_t>(name.front() - '0') + 2;
      std::ranges::fill(numbers, 0.0F);
      for (size_t i = 0; i < kWalk; ++i) at(token(i), (i + kWalk - ahead) % kWalk) = 1;
    }
    if (name == "fc.weight" || has("gate_proj") || has("up_proj")) {
      std::ranges::fill(numbers, 0.0F);
      const size_t n = name == "fc.weight" ? numbers.size() / n_cols : kWalk;
      for (size_t i = 0; i < n; ++i) at(i, i) = 1;
    }
    if (!has("down_proj")) return;
    // A unit vector, normalised, is the root of its width in its place, 20.
    const double x = std::sqrt(20.0);
    const auto step = static_cast<float>(1 / (x * x / (1 + std::exp(-x))));
    for (size_t i = 0; i < kWalk; ++i) {
      at((i + 1) % kWalk, i) = step;
      at(i, i) = -step;
    }
  }

 private:
  size_t token(size_t output) const { return output + static_cast<size_t>(distances_[output]); }

  std::vector<int64_t> distances_;
};

TEST_F(DraftHeadEngine, RightDraftsOfAnotherFileAreAccepted) {
  for (const auto& [name, file] : {std::pair("usual_places", "/weights.safetensors"),
                                   std::pair("own_outputs", "/medusa_lm_head.safetensors")}) {
    SCOPED_TRACE(name);
    const Json golden = DraftHeadEngine::golden(name);
    write(golden);
    const Walk walk(golden);
    const auto walking = [&](const Json& of, bool is_head) {
      std::vector<GoldenTensor> tensors;
      for (const Json& row : of.at("tensors")) {
        tensors.push_back(tensor_of(row, of));
        walk.change(tensors.back(), is_head);
      }
      return tensors;
    };
    write_safetensors(root_ + "/model.safetensors", walking(golden, false), "f32");
    write_safetensors(head_ + file, walking(golden.at("head"), true), "f32");
    // What a few more rows cost several sequences is not known before something has drafted more.
    const bool drafts_few = golden.at("head").contains("file");
    expect_all_drafts_right(golden, drafts_few ? 1 : 3);
  }
}

}  // namespace
}  // namespace ruv
