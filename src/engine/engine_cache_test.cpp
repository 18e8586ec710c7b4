// What an engine keeps, guesses and promises: reuse of prefixes, disk, draft model, deadlines.
#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "engine/test_equal_steps.h"
#include "engine/test_gate_file.h"
#include "property/asked_engine.h"
#include "ruv/engine.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

class EngineCacheTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto model = load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf");
    ASSERT_TRUE(model.has_value()) << model.error().message();
    model_ = *model;
  }
  static void TearDownTestSuite() { model_.reset(); }

  static std::unique_ptr<Engine> engine(const KvCacheConfig& kv = {}) {
    return std::move(*Engine::create(model_, {.n_threads = 1, .n_ctx = 768, .kv = kv}));
  }
  static std::vector<Token> prompt(std::string_view text) {
    return tokenize(*model_, text).value();
  }
  static GenerateParams greedy(int64_t max_tokens) {
    GenerateParams params;
    params.temperature = 0;
    params.max_tokens = max_tokens;
    params.ignore_eos = true;
    return params;
  }
  // Asks for one token; returns how many of the prompt's were reused.
  static int64_t n_reused(Engine& engine, std::vector<Token> ids, const ServiceTerms& terms) {
    AskedEngine one(engine);
    one.ask({std::move(ids), greedy(1), terms});
    return one.wait()[0].timings.n_cached_tokens;
  }
  static std::shared_ptr<const Model> model_;
};
std::shared_ptr<const Model> EngineCacheTest::model_;

constexpr std::string_view kText =
    "The river rises in the hills behind the town and runs through three valleys before it meets "
    "the sea. In spring it carries snow water, in summer boats, in autumn leaves, and";

TEST_F(EngineCacheTest, AnAnswerSaysWhatWasReusedAndWhyNotMore) {
  const auto engine = EngineCacheTest::engine();
  std::vector<Token> ids = prompt(kText);
  const auto n = static_cast<int64_t>(ids.size());
  const Answer first = generate(*engine, ids, greedy(20)).value();
  EXPECT_EQ(first.timings.n_cached_tokens, 0);
  EXPECT_EQ(first.timings.cache_miss, CacheMiss::unknown);

  const Answer again = generate(*engine, ids, greedy(20)).value();
  EXPECT_EQ(again.ids, first.ids);
  EXPECT_EQ(again.timings.n_cached_tokens, n - 1);
  EXPECT_EQ(again.timings.cache_miss, CacheMiss::none);

  GenerateParams off = greedy(20);
  off.cache_prefix = false;
  const Answer without = generate(*engine, ids, off).value();
  EXPECT_EQ(without.ids, first.ids);
  EXPECT_EQ(without.timings.n_cached_tokens, 0);
  EXPECT_EQ(without.timings.cache_miss, CacheMiss::off);

  GenerateParams many = greedy(1);
  many.min_cache_tokens = n;
  EXPECT_EQ(generate(*engine, ids, many).value().timings.cache_miss, CacheMiss::too_few);

  // The next turn: the answer, without its last token, is kept too.
  std::vector<Token> longer = ids;
  longer.insert(longer.end(), first.ids.begin(), first.ids.end());
  longer.insert(longer.end(), ids.begin(), ids.begin() + 9);
  const Answer next = generate(*engine, longer, greedy(5)).value();
  EXPECT_EQ(next.timings.n_cached_tokens, n + 19);

  ids[static_cast<size_t>(n) - 7] ^= 1;
  const Answer other = generate(*engine, ids, greedy(5)).value();
  EXPECT_EQ(other.timings.n_cached_tokens, n - 7);
  EXPECT_EQ(other.timings.cache_miss, CacheMiss::diverged);
  const KvCacheStats stats = engine->kv_stats();
  EXPECT_EQ(stats.hits, 3);
  EXPECT_EQ(stats.reused_tokens, (n - 1) + (n + 19) + (n - 7));
}

TEST_F(EngineCacheTest, TenantsAndSaltsShareNothing) {
  const auto engine = EngineCacheTest::engine();
  const auto ask = [&](const char* tenant, const char* salt) {
    return n_reused(*engine, prompt(kText), {.tenant = tenant, .cache_salt = salt});
  };
  EXPECT_EQ(ask("ann", ""), 0);
  EXPECT_EQ(ask("bob", ""), 0);
  EXPECT_EQ(ask("ann", "s"), 0);
  EXPECT_GT(ask("ann", ""), 0);
  EXPECT_GT(ask("ann", "s"), 0);
}

TEST_F(EngineCacheTest, PagesOutliveTheEngine) {
  const std::string folder = testing::TempDir() + "engine_cache_" +
                             std::to_string(testing::UnitTest::GetInstance()->random_seed());
  std::filesystem::remove_all(folder);
  KvCacheConfig kv;
  kv.disk_folder = folder;
  const std::vector<Token> ids = prompt(kText);
  std::vector<Token> answer;
  {
    const auto engine = EngineCacheTest::engine(kv);
    answer = generate(*engine, ids, greedy(20)).value().ids;
    // One engine at a time.
    EngineOptions second;
    second.kv = kv;
    const auto refused = Engine::create(model_, second);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), Code::unavailable) << refused.error().message();
  }
  {
    const auto engine = EngineCacheTest::engine(kv);
    const Answer again = generate(*engine, ids, greedy(20)).value();
    EXPECT_EQ(again.ids, answer);
    const auto n_whole = static_cast<int64_t>(ids.size() - 1) / 16 * 16;
    EXPECT_EQ(again.timings.n_cached_tokens, n_whole);
    EXPECT_GT(engine->kv_stats().restored_pages, 0);
  }
  // Another precision has other bytes.
  kv.type = KvType::f16;
  {
    const auto engine = EngineCacheTest::engine(kv);
    EXPECT_EQ(generate(*engine, ids, greedy(1)).value().timings.n_cached_tokens, 0);
  }
  std::filesystem::remove_all(folder);
}

// Tails are not on disk: whole groups are restored, and what is computed again has tails again.
TEST_F(EngineCacheTest, TieredPagesOutliveTheEngine) {
  const std::string folder = testing::TempDir() + "engine_cache_tiered_" +
                             std::to_string(testing::UnitTest::GetInstance()->random_seed());
  std::filesystem::remove_all(folder);
  KvCacheConfig kv = kv_of(KvType::int4);
  kv.disk_folder = folder;
  std::vector<Token> ids;
  while (ids.size() < 600) {
    for (const Token id : prompt(kText)) ids.push_back(id);
  }
  ids.resize(600);
  GenerateParams params = greedy(20);
  params.n_logprobs = 3;
  const auto bits = [](const Answer& answer) {
    std::vector<float> all;
    for (const Event::Logprobs& l : answer.logprobs) all.push_back(l.chosen.logprob);
    return all;
  };
  Answer first;
  {
    const auto engine = EngineCacheTest::engine(kv);
    first = generate(*engine, ids, params).value();
    const Answer again = generate(*engine, ids, params).value();
    EXPECT_EQ(again.timings.n_cached_tokens, 599);
    EXPECT_EQ(again.ids, first.ids);
    EXPECT_EQ(bits(again), bits(first));
  }
  {
    const auto engine = EngineCacheTest::engine(kv);
    const Answer restored = generate(*engine, ids, params).value();
    EXPECT_EQ(restored.timings.n_cached_tokens, 512);
    EXPECT_EQ(engine->kv_stats().restored_pages, 32);
    EXPECT_EQ(restored.ids, first.ids);
    EXPECT_EQ(bits(restored), bits(first));
    const Answer again = generate(*engine, ids, params).value();
    EXPECT_EQ(again.timings.n_cached_tokens, 599) << "the pages of before have tails again";
    EXPECT_EQ(bits(again), bits(first));
    // Inside an old group, whose tails are not there: from the begin of that group.
    std::vector<Token> other(ids.begin(), ids.begin() + 400);
    other.push_back(ids[7]);
    const Answer branch = generate(*engine, other, params).value();
    EXPECT_EQ(branch.timings.n_cached_tokens, 256);
    EXPECT_EQ(branch.timings.cache_miss, CacheMiss::evicted);
  }
  std::filesystem::remove_all(folder);
}

// With hardly any room for tails of kept prefixes.
TEST_F(EngineCacheTest, DemotedPrefixesAreUsedUpToTheirLastGroup) {
  KvCacheConfig kv = kv_of(KvType::int4);
  kv.tail_tokens = 16;
  kv.max_tokens = 8192;
  const auto engine = EngineCacheTest::engine(kv);
  const auto text = [](Token first) {
    std::vector<Token> ids;
    for (Token i = 0; i < 400; ++i) ids.push_back(first + i * 7 % 300);
    return ids;
  };
  const Answer answer = generate(*engine, text(100), greedy(8)).value();
  EXPECT_EQ(generate(*engine, text(100), greedy(8)).value().timings.n_cached_tokens, 399);
  for (Token first = 500; first < 2500; first += 100) {
    ASSERT_TRUE(generate(*engine, text(first), greedy(1)).has_value());
  }
  const Answer demoted = generate(*engine, text(100), greedy(8)).value();
  EXPECT_EQ(demoted.timings.n_cached_tokens, 256);
  EXPECT_EQ(demoted.timings.cache_miss, CacheMiss::evicted);
  EXPECT_EQ(demoted.ids, answer.ids);
  // What was computed again has its tails again, the page that is not full too.
  std::vector<Token> next = text(100);
  next.insert(next.end(), answer.ids.begin(), answer.ids.end());
  next.push_back(5);
  EXPECT_EQ(generate(*engine, next, greedy(1)).value().timings.n_cached_tokens, 407);
  const KvCacheStats stats = engine->kv_stats();
  EXPECT_GT(stats.demoted_pages, 0);
  EXPECT_GT(stats.used_tail_pages, 0);
  EXPECT_LE(stats.used_tail_pages, stats.tail_pages);
}

// What int4 takes of f16's memory when sizes are left alone.
TEST_F(EngineCacheTest, TieredPagesTakeLessMemory) {
  const auto bytes = [](KvType type) {
    EngineOptions options{.n_threads = 1, .n_ctx = 1024, .max_sequences = 4};
    options.max_batch_tokens = 64;
    options.kv = kv_of(type);
    options.kv.max_tokens = int64_t{1} << 16;
    const auto engine = Engine::create(model_, options);
    return static_cast<double>((*engine)->kv_stats().memory_bytes);
  };
  const double f16 = bytes(KvType::f16);
  EXPECT_LT(bytes(KvType::int4), 0.45 * f16);
  EXPECT_LT(bytes(KvType::int2), 0.33 * f16);
  EXPECT_LT(bytes(KvType::int4), bytes(KvType::int8));
}

TEST_F(EngineCacheTest, TieredPagesNeedAVerdict) {
  EngineOptions options;
  options.kv = kv_of(KvType::int4);
  options.kv.gate_file += ".none";
  const auto refused = Engine::create(model_, options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_NE(refused.error().message().find("kv-gate"), std::string::npos);
}

TEST_F(EngineCacheTest, ADraftModelChangesNoByte) {
  const std::vector<Token> ids = prompt(kText);
  for (const double temperature : {0.0, 0.9}) {
    GenerateParams params = greedy(60);
    params.temperature = temperature;
    params.seed = 7;
    const Answer plain = generate(*engine(), ids, params).value();
    const auto drafting =
        equal_steps_engine(model_, {.n_threads = 1, .n_ctx = 768, .draft_model = model_});
    // Several, so that the lengths have seen that its guesses are right.
    Answer answer;
    for (int i = 0; i < 3; ++i) answer = generate(*drafting, ids, params).value();
    EXPECT_EQ(answer.ids, plain.ids);
    EXPECT_GT(drafting->speculative_stats().n_drafted, 0);
  }
}

TEST_F(EngineCacheTest, ATenantAboveItsQuotaIsEvictedFirst) {
  const auto cached_after = [](int64_t max_tenant_tokens) {
    KvCacheConfig kv;
    kv.max_tokens = 512;
    kv.max_tenant_tokens = max_tenant_tokens;
    const auto engine = EngineCacheTest::engine(kv);
    const auto ask = [&](const char* tenant, Token first, int64_t n) {
      std::vector<Token> ids;
      for (int64_t i = 0; i < n; ++i) ids.push_back(first + static_cast<Token>(i % 7));
      return n_reused(*engine, std::move(ids), {.tenant = tenant});
    };
    ask("small", 100, 64);
    for (Token i = 0; i < 12; ++i) ask("large", 200 + 10 * i, 120);
    return ask("small", 100, 64);
  };
  EXPECT_EQ(cached_after(0), 0);
  EXPECT_EQ(cached_after(128), 63);
}

TEST_F(EngineCacheTest, ADeadlineEndsWithItsReason) {
  const auto engine = EngineCacheTest::engine();
  AskedEngine one(*engine);
  one.ask({prompt(kText), greedy(-1), {.timeout_ms = 1}});
  const Told last = one.wait()[0];
  EXPECT_EQ(last.finish, FinishReason::error);
  EXPECT_EQ(last.status.code(), Code::deadline) << last.status.message();
}

TEST_F(EngineCacheTest, ADeadlineNeedNotWaitForTheDisk) {
  const std::string folder = testing::TempDir() + "engine_late_" +
                             std::to_string(testing::UnitTest::GetInstance()->random_seed());
  std::filesystem::remove_all(folder);
  KvCacheConfig kv;
  kv.disk_folder = folder;
  ASSERT_TRUE(generate(*EngineCacheTest::engine(kv), prompt(kText), greedy(1)).has_value());
  // Reading stands still as long as nobody takes the note that a page is damaged.
  std::mutex mutex;
  std::condition_variable changed;
  bool reading = false;
  bool over = false;
  Event last;
  kv.note = [&](std::string_view) {
    std::unique_lock lock(mutex);
    reading = true;
    changed.notify_all();
    changed.wait(lock, [&] { return over; });
  };
  {
    const auto engine = EngineCacheTest::engine(kv);
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.file_size() < 100'000) continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(50'000);
      file << "damaged";
    }
    Request request;
    request.prompt = prompt(kText);
    request.params = greedy(1);
    request.terms.timeout_ms = 100;
    request.on_event = [&](const Event& event) {
      const std::lock_guard lock(mutex);
      last = event;
      changed.notify_all();
    };
    ASSERT_TRUE(engine->submit(std::move(request)).has_value());
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(20),
                     [&] { return last.finish != FinishReason::none; });
    EXPECT_TRUE(reading);
    EXPECT_EQ(last.finish, FinishReason::error);
    EXPECT_EQ(last.status.code(), Code::deadline) << last.status.message();
    over = true;
    changed.notify_all();
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ruv
