// Drafting heads that were trained on a model's own answers draft for it: the same bytes, and more
// drafts that are right than by heads that have learned nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "engine/test_equal_steps.h"
#include "model/model.h"
#include "ruv/stream.h"
#include "train/trainer.h"

namespace ruv::trained_heads_test {
namespace {

const std::string kModel = RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf";

std::shared_ptr<const Model> load(const std::string& heads) {
  LoadOptions options;
  options.n_threads = 1;
  options.draft_head_file = heads;
  auto model = load_model(kModel, options);
  EXPECT_TRUE(model) << model.error().message();
  return *model;
}

// A greedy answer of 48 tokens to each of four prompts.
struct Answers {
  std::vector<std::vector<Token>> prompts, ids;
  SpeculativeStats stats;
};

Answers answers(const std::string& heads) {
  const auto model = load(heads);
  EngineOptions options = {.n_threads = 1, .n_ctx = 96, .max_sequences = 1};
  options.kv.max_tokens = 1024;
  const auto engine = equal_steps_engine(model, options);
  Answers found;
  for (int32_t i = 0; i < 4; ++i) {
    GenerateParams params;
    params.max_tokens = 48;
    params.ignore_eos = true;
    params.temperature = 0;
    params.speculative = !heads.empty();
    found.prompts.push_back({40 + i, 300 + 17 * i, 500 + 31 * i});
    found.ids.push_back(generate(*engine, found.prompts.back(), params).value().ids);
  }
  found.stats = engine->speculative_stats();
  return found;
}

TEST(TrainedHeads, DraftWhatTheModelSays) {
  const std::string root = testing::TempDir() + "ruv_trained_heads_" + std::to_string(getpid());
  const Answers plain = answers("");
  TrainOptions options;
  options.n_threads = 2;
  options.max_rows = 256;
  options.rate.peak = 3e-3;
  options.n_draft_heads = 2;
  const auto trainer = *Trainer::create(kModel, options);
  std::vector<TrainSequence> texts;
  for (size_t i = 0; i < plain.ids.size(); ++i) {
    TrainSequence text{plain.prompts[i]};
    text.tokens.insert(text.tokens.end(), plain.ids[i].begin(), plain.ids[i].end());
    texts.push_back(std::move(text));
  }
  DraftHeadsObjective objective(*trainer->draft_heads(), trainer->parameters().all(), texts);
  double accepted[2];
  for (const bool is_trained : {false, true}) {
    for (int step = 0; is_trained && step < 40; ++step) {
      ASSERT_TRUE(trainer->step(texts, objective));
    }
    const std::string folder = root + (is_trained ? "/trained" : "/first");
    std::filesystem::create_directories(folder);
    const Status written = write_draft_heads(trainer->model(), *trainer->draft_heads(),
                                             trainer->parameters().all(), folder);
    ASSERT_TRUE(written.ok()) << written.message();
    const Answers drafted = answers(folder);
    EXPECT_EQ(drafted.ids, plain.ids) << is_trained;
    EXPECT_GT(drafted.stats.n_drafted_by_head, 0);
    accepted[is_trained ? 1 : 0] = static_cast<double>(drafted.stats.n_accepted_of_head) /
                                   static_cast<double>(drafted.stats.n_drafted_by_head);
  }
  EXPECT_GT(accepted[1], accepted[0] + 0.3) << accepted[0];
  RecordProperty("right_at_first", std::to_string(accepted[0]));
  RecordProperty("right_when_trained", std::to_string(accepted[1]));
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace ruv::trained_heads_test
