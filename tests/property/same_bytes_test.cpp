// The same request gives the same bytes: whatever shares its batch, however its prompt is cut, with
// any number of threads, and after preemption. 1,000 random variations of an engine against answers
// that each ran alone on one thread.
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <thread>

#include "base/rng.h"
#include "ruv/engine.h"

namespace ruv {
namespace {

// Ids and the exact bits of all log-probabilities.
std::string fingerprint(const Answer& answer) {
  std::string bytes;
  const auto add = [&](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (Token id : answer.ids) add(id);
  for (const Event::Logprobs& l : answer.logprobs) {
    add(l.chosen.logprob);
    for (const TokenLogprob& t : l.top) {
      add(t.id);
      add(t.logprob);
    }
  }
  return bytes;
}

struct Task {
  std::vector<Token> prompt;
  GenerateParams params;
};

Task random_task(Rng& rng, int64_t n_vocab, int64_t n_ctx) {
  Task task;
  const auto n = 1 + static_cast<int64_t>(rng.below(static_cast<uint64_t>(n_ctx / 2)));
  for (int64_t i = 0; i < n; ++i) {
    task.prompt.push_back(static_cast<Token>(rng.below(static_cast<uint64_t>(n_vocab))));
  }
  task.params.max_tokens = 1 + static_cast<int64_t>(rng.below(20));
  task.params.temperature = rng.below(2) == 0 ? 0.0 : 1.0;
  task.params.repetition_penalty = rng.below(3) == 0 ? 1.3 : 1.0;
  task.params.seed = rng.below(1000);
  task.params.n_logprobs = 2;
  task.params.ignore_eos = true;
  task.params.token_healing = rng.below(2) == 0;
  return task;
}

std::string answer_of(Engine& engine, const Task& task) {
  Result<Answer> answer = generate(engine, task.prompt, task.params);
  EXPECT_TRUE(answer.has_value()) << answer.error().message();
  return answer ? fingerprint(*answer) : "";
}

constexpr const char* kModels[] = {"llama2", "qwen2", "gemma2", "gemma3", "phi3", "gpt2"};

struct SameBytesCase {
  const char* model;
  KvType kv;
};

class SameBytes : public testing::TestWithParam<SameBytesCase> {};

TEST_P(SameBytes, WhateverTheBatchTheChunksAndTheThreads) {
  const auto [name, kv_type] = GetParam();
  const std::string path =
      std::string(RUV_SOURCE_DIR "/tests/golden/models/") + name + "/model.gguf";
  const auto model = load_model(path);
  ASSERT_TRUE(model.has_value()) << model.error().message();
  const ModelInfo info = model_info(**model);
  const int64_t n_ctx = std::min<int64_t>(info.n_ctx_train, 96);
  auto alone = Engine::create(
      *model, {.n_threads = 1, .n_ctx = n_ctx, .max_sequences = 1, .kv = {.type = kv_type}});
  ASSERT_TRUE(alone.has_value()) << alone.error().message();

  const int kVariations = kv_type == KvType::f16 ? 170 : 60;  // of each of six models
  int compared = 0;
  for (int variation = 0; variation < kVariations; ++variation) {
    Rng rng(static_cast<uint64_t>(variation) * 7919 + 1);
    EngineOptions options;
    options.n_ctx = n_ctx;
    options.kv = {.type = kv_type};
    options.n_threads = 1 + static_cast<int>(rng.below(3));
    options.max_sequences = 1 + static_cast<int64_t>(rng.below(5));
    options.max_batch_tokens = 1 + static_cast<int64_t>(rng.below(100));
    // Often too few pages for all at once, so that sequences are preempted and computed again.
    options.kv.max_tokens = n_ctx + static_cast<int64_t>(rng.below(static_cast<uint64_t>(n_ctx)));
    auto engine = Engine::create(*model, options);
    ASSERT_TRUE(engine.has_value()) << engine.error().message();

    std::vector<Task> tasks;
    const int n_tasks = 1 + static_cast<int>(rng.below(5));
    for (int i = 0; i < n_tasks; ++i) tasks.push_back(random_task(rng, info.n_vocab, n_ctx));
    std::vector<std::future<std::string>> answers;
    for (const Task& task : tasks) {
      answers.push_back(
          std::async(std::launch::async, [&engine, &task] { return answer_of(**engine, task); }));
    }
    for (size_t i = 0; i < tasks.size(); ++i) {
      ASSERT_EQ(answers[i].get(), answer_of(**alone, tasks[i]))
          << name << ", variation " << variation << ", task " << i;
      ++compared;
    }
  }
  EXPECT_GE(compared, kVariations);
}

std::vector<SameBytesCase> cases() {
  std::vector<SameBytesCase> all;
  for (const char* model : kModels) {
    for (const KvType kv : {KvType::f16, KvType::int8}) all.push_back({model, kv});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Models, SameBytes, testing::ValuesIn(cases()), [](const auto& test) {
  return std::string(test.param.model) + "_" + std::string(kv_type_name(test.param.kv));
});

TEST(SameBytesCancel, OthersDoNotNotice) {
  const auto model = load_model(RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf");
  ASSERT_TRUE(model.has_value());
  const int64_t n_ctx = std::min<int64_t>(model_info(**model).n_ctx_train, 96);
  auto engine = Engine::create(*model, {.n_threads = 2, .n_ctx = n_ctx, .max_sequences = 4});
  ASSERT_TRUE(engine.has_value());
  for (uint64_t round = 0; round < 50; ++round) {
    Rng rng(round);
    const Task kept = random_task(rng, model_info(**model).n_vocab, n_ctx);
    const std::string expected = answer_of(**engine, kept);
    std::vector<RequestId> dropped;
    std::vector<std::promise<FinishReason>> ends(3);
    for (std::promise<FinishReason>& end : ends) {
      Task task = random_task(rng, model_info(**model).n_vocab, n_ctx);
      task.params.max_tokens = -1;
      const auto on_event = [&end](const Event& event) {
        if (event.finish != FinishReason::none) end.set_value(event.finish);
      };
      const Result<RequestId> id = (*engine)->submit({task.prompt, task.params, on_event});
      ASSERT_TRUE(id.has_value());
      dropped.push_back(*id);
    }
    auto answer = std::async(std::launch::async, [&] { return answer_of(**engine, kept); });
    for (RequestId id : dropped) (*engine)->cancel(id);
    EXPECT_EQ(answer.get(), expected) << "round " << round;
    for (std::promise<FinishReason>& end : ends) {
      const FinishReason reason = end.get_future().get();
      EXPECT_TRUE(reason == FinishReason::cancelled || reason == FinishReason::length);
    }
  }
  // The last answer's pages come back just after its last event.
  for (int i = 0; i < 1000 && (*engine)->load().n_running > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const KvCacheStats stats = (*engine)->kv_stats();
  EXPECT_EQ(stats.free_pages + stats.evictable_pages, stats.total_pages);
}

}  // namespace
}  // namespace ruv
