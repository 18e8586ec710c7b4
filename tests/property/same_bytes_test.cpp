// The same request gives the same bytes: whatever shares its batch, however its prompt is cut, with
// any number of threads, and after preemption. 1,000 random variations of an engine against answers
// that each ran alone on one thread.
#include <gtest/gtest.h>

#include <thread>

#include "base/rng.h"
#include "model/model.h"
#include "property/asked_engine.h"
#include "property/random_sampling.h"

namespace ruv {
namespace {

Asked random_request(Rng& rng, int64_t n_vocab, int64_t n_ctx) {
  Asked asked;
  const auto n = 1 + static_cast<int64_t>(rng.below(static_cast<uint64_t>(n_ctx / 2)));
  for (int64_t i = 0; i < n; ++i) {
    asked.prompt.push_back(static_cast<Token>(rng.below(static_cast<uint64_t>(n_vocab))));
  }
  asked.params.max_tokens = 1 + static_cast<int64_t>(rng.below(20));
  asked.params.temperature = rng.below(2) == 0 ? 0.0 : 1.0;
  asked.params.repetition_penalty = rng.below(3) == 0 ? 1.3 : 1.0;
  asked.params.seed = rng.below(1000);
  asked.params.n_logprobs = 2;
  asked.params.ignore_eos = true;
  asked.params.token_healing = rng.below(2) == 0;
  draw_sampling(rng, false, asked.params);
  return asked;
}

Told answer_to(Engine& engine, const Asked& asked) {
  AskedEngine one(engine);
  one.ask(asked);
  return one.wait()[0];
}

constexpr const char* kModels[] = {"llama2", "qwen2", "gemma2",   "gemma3", "phi3",
                                   "gpt2",   "lfm2",  "qwen3moe", "t5"};

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
  const bool reads_source = (*model)->h.reads_source();
  const int64_t n_ctx = std::min<int64_t>(info.n_ctx_train, 96);
  auto alone = Engine::create(
      *model, {.n_threads = 1, .n_ctx = n_ctx, .max_sequences = 1, .kv = {.type = kv_type}});
  ASSERT_TRUE(alone.has_value()) << alone.error().message();

  const int kVariations = kv_type == KvType::f16 ? 170 : 60;  // of each model
  int compared = 0;
  for (int variation = 0; variation < kVariations; ++variation) {
    Rng rng(static_cast<uint64_t>(variation) * 7919 + 1);
    EngineOptions options;
    options.n_ctx = n_ctx;
    options.kv = {.type = kv_type};
    options.n_threads = 1 + static_cast<int>(rng.below(3));
    options.max_sequences = 1 + static_cast<int64_t>(rng.below(5));
    options.max_batch_tokens = 1 + static_cast<int64_t>(rng.below(100));
    // A source is computed in one step.
    if (reads_source) options.max_batch_tokens += n_ctx / 2;
    // Often too few pages for all at once, so that sequences are preempted and computed again.
    options.kv.max_tokens = n_ctx + static_cast<int64_t>(rng.below(static_cast<uint64_t>(n_ctx)));
    auto engine = Engine::create(*model, options);
    ASSERT_TRUE(engine.has_value()) << engine.error().message();

    AskedEngine together(**engine);
    std::vector<Asked> requests;
    const int n_requests = 1 + static_cast<int>(rng.below(5));
    for (int i = 0; i < n_requests; ++i) {
      requests.push_back(random_request(rng, info.n_vocab, n_ctx));
      requests.back().params.token_healing &= !reads_source;
    }
    for (const Asked& asked : requests) together.ask(asked);
    const std::deque<Told>& told = together.wait();
    for (size_t i = 0; i < requests.size(); ++i) {
      ASSERT_TRUE(told[i].same_bytes(answer_to(**alone, requests[i])))
          << name << ", variation " << variation << ", request " << i;
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
    const Asked kept = random_request(rng, model_info(**model).n_vocab, n_ctx);
    const Told expected = answer_to(**engine, kept);
    AskedEngine all(**engine);
    for (int i = 0; i < 3; ++i) {
      Asked dropped = random_request(rng, model_info(**model).n_vocab, n_ctx);
      dropped.params.max_tokens = -1;
      all.ask(dropped);
    }
    const size_t last = all.ask(kept);
    for (size_t i = 0; i < last; ++i) (*engine)->cancel(all.id(i));
    const std::deque<Told>& told = all.wait();
    EXPECT_TRUE(told[last].same_bytes(expected)) << "round " << round;
    for (size_t i = 0; i < last; ++i) {
      EXPECT_TRUE(told[i].finish == FinishReason::cancelled ||
                  told[i].finish == FinishReason::length);
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
