// Whatever the engine keeps, evicts, writes to disk, reads back, finds damaged, guesses ahead or
// computes again: the bytes of an answer are those of an engine that does none of it. Random lives
// of engines whose requests share beginnings of all lengths.
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "cache/test_page_store.h"
#include "device/kv_shape.h"
#include "engine/test_equal_steps.h"
#include "engine/test_media.h"
#include "fault/damage.h"
#include "golden/test_golden_files.h"
#include "property/asked_engine.h"

namespace ruv {
namespace {

struct CachedBytesCase {
  const char* name;
  const char* path;  // of a model, or a file of goldens and the name of one of them after "#"
  KvType kv;
  int worlds;
  bool windowed = false;
  bool states = false;  // layers with running states: answers begin at the ends of pages only
};

// What happened, so that a test which no longer reaches what it is for fails.
struct Reached {
  int64_t prompts = 0;
  int64_t reused = 0;        // answers that began on kept pages
  int64_t inside_page = 0;   // of them, not at a page's end
  int64_t whole_prompt = 0;  // all but the token that gives the first logits
  int64_t drafted = 0;
  int64_t evicted = 0;
  int64_t preempted = 0;
  int64_t restored = 0;
  int64_t damaged = 0;
  int64_t after_media = 0;  // answers that began after a medium
  int64_t shifted = 0;      // answers whose contexts were full
  // Of tiered pages:
  int64_t inside_group = 0;  // answers that began on kept tails
  int64_t demoted = 0;
  // Of layers with a window:
  int64_t behind_window = 0;  // answers that began where some pages had left it
  int64_t passed = 0;

  bool all(const CachedBytesCase& given) const {
    const bool tiered = is_tiered(given.kv);
    const bool windowed = given.windowed;
    for (const int64_t n :
         {given.states ? 1 : inside_page, whole_prompt, shifted, drafted, evicted, preempted,
          restored, damaged, after_media, tiered ? inside_group : 1, tiered ? demoted : 1,
          windowed ? behind_window : 1, windowed ? passed : 1}) {
      if (n == 0) return false;
    }
    return true;
  }
};

class CachedWorld {
 public:
  CachedWorld(const CachedBytesCase& given, const std::shared_ptr<const Model>& model,
              Engine& plain, int64_t n_ctx, uint64_t seed)
      : given_(given), model_(model), plain_(plain), n_ctx_(n_ctx), rng_(seed) {
    const int64_t n_vocab = model_info(*model).n_vocab;
    for (int i = 0; i < 3; ++i) {
      texts_.push_back({random_tokens(n_ctx / 2, rng_.below(2) == 0 ? 6 : n_vocab), {}});
    }
    n_vocab_ = n_vocab;
  }

  void live(Reached& reached) {
    const int n_lives = rng_.below(2) == 0 ? 3 : 1;
    EngineOptions options = random_options();
    if (n_lives > 1) options.kv.disk_folder = folder_.path();
    if (rng_.below(3) == 0) add_media(options.max_batch_tokens - options.max_sequences);
    for (int life = 0; life < n_lives; ++life) {
      {
        const auto engine = random_engine(options);
        const int n_rounds = 1 + static_cast<int>(rng_.below(3));
        for (int round = 0; round < n_rounds; ++round) ask_some(*engine, reached);
        const KvCacheStats stats = engine->kv_stats();
        reached.evicted += stats.evicted_pages;
        reached.preempted += stats.preemptions;
        reached.restored += stats.restored_pages;
        reached.damaged += stats.failed_restores;
        reached.demoted += stats.demoted_pages;
        reached.passed += stats.passed_pages;
        reached.behind_window += stats.window_pages > 0 && stats.hits > 0;
      }
      if (n_lives > 1 && rng_.below(2) == 0) damage();
    }
  }

 private:
  struct Text {
    std::vector<Token> tokens;
    std::vector<MediaSpan> media;

    // A medium that is cut is none: its placeholders become text.
    void cut(int64_t n) {
      tokens.resize(static_cast<size_t>(n));
      std::erase_if(media, [&](const MediaSpan& span) { return span.rows.end > n; });
    }
  };

  int64_t below(int64_t n) { return static_cast<int64_t>(rng_.below(static_cast<uint64_t>(n))); }

  std::vector<Token> random_tokens(int64_t n, int64_t n_different) {
    std::vector<Token> tokens;
    for (int64_t i = 0; i < n; ++i)
      tokens.push_back(static_cast<Token>(4 + below(n_different - 4)));
    return tokens;
  }

  EngineOptions random_options() {
    EngineOptions options;
    options.n_ctx = n_ctx_;
    options.n_threads = 1 + static_cast<int>(rng_.below(2));
    options.max_sequences = 1 + below(4);
    options.max_batch_tokens = 1 + below(120);
    options.kv = kv_of(given_.kv);
    if (is_tiered(given_.kv) || given_.windowed || given_.states)
      options.kv.tail_tokens = below(rng_.below(2) == 0 ? 20 : n_ctx_);
    // Often hardly more than one sequence needs.
    options.kv.max_tokens = n_ctx_ + below(rng_.below(2) == 0 ? 64 : 4 * n_ctx_);
    return options;
  }

  // By this machine's clock, or by one that makes all guesses look worth it.
  std::unique_ptr<Engine> random_engine(const EngineOptions& options) {
    if (rng_.below(2) == 0) return equal_steps_engine(model_, options);
    auto engine = Engine::create(model_, options);
    EXPECT_TRUE(engine.has_value()) << engine.error().message();
    return std::move(*engine);
  }

  // Two media, in various places of the texts.
  void add_media(int64_t most_whole) {
    const std::vector<Token> ids[] = {random_tokens(1 + below(20), n_vocab_),
                                      random_tokens(1 + below(20), n_vocab_)};
    for (Text& text : texts_) {
      for (int64_t at = below(20);;) {
        const std::vector<Token>& shown = ids[rng_.below(2)];
        const int64_t n = std::ssize(shown);
        if (at + n > std::ssize(text.tokens)) break;
        const MediaKind kind = rng_.below(2) == 0 ? MediaKind::text : MediaKind::image;
        text.media.push_back(media_like(*model_, shown, at, kind));
        text.media.back().whole = n <= most_whole && rng_.below(2) == 0;
        std::fill_n(text.tokens.begin() + at, n, Token{4});
        at += n + below(30);
      }
    }
  }

  Text random_prompt() {
    Text text;
    std::vector<Token>& prompt = text.tokens;
    if (!conversations_.empty() && rng_.below(3) == 0) {
      text = conversations_[rng_.below(conversations_.size())];
    } else {
      text = texts_[rng_.below(texts_.size())];
    }
    const auto n = below(std::ssize(prompt) + 1);
    switch (rng_.below(4)) {
      case 0:
        text.cut(n / 16 * 16);  // ends with a page
        break;
      case 1:
        text.cut(n);
        break;
      default:
        break;
    }
    if (prompt.empty() || rng_.below(3) != 0) {
      for (const Token token : random_tokens(1 + below(30), n_vocab_)) prompt.push_back(token);
    }
    text.cut(std::min<int64_t>(std::ssize(prompt), n_ctx_ * 3 / 4));
    return text;
  }

  Asked random_asked() {
    Asked asked;
    Text text = random_prompt();
    asked.prompt = std::move(text.tokens);
    asked.media = std::move(text.media);
    asked.model = model_.get();
    GenerateParams& params = asked.params;
    params.max_tokens = below(24);
    params.temperature = rng_.below(2) == 0 ? 0.0 : 0.9;
    params.seed = rng_.below(1000);
    params.ignore_eos = rng_.below(2) == 0;
    params.speculative = rng_.below(4) != 0;
    params.cache_prefix = rng_.below(8) != 0;
    params.min_cache_tokens = rng_.below(2) == 0 ? 1 : 16;
    if (rng_.below(3) == 0) params.n_logprobs = static_cast<int32_t>(rng_.below(4));
    if (rng_.below(4) == 0) params.repetition_penalty = 1.3;
    if (rng_.below(4) == 0) params.presence_penalty = 0.7;
    if (rng_.below(4) == 0) params.frequency_penalty = 0.4;
    if (rng_.below(4) == 0) params.logit_bias = {{static_cast<Token>(below(n_vocab_)), 3.0F}};
    if (rng_.below(4) == 0) params.stop = {"e", " the"};
    if (rng_.below(4) == 0) params.stop_tokens = {static_cast<Token>(below(n_vocab_))};
    params.token_healing = rng_.below(3) == 0;
    if (asked.media.empty() && rng_.below(is_tiered(given_.kv) ? 40 : 16) == 0) {
      params.context_shift = true;
      params.n_keep = below(n_ctx_) - 1;
      params.max_tokens = n_ctx_ - std::ssize(asked.prompt) + below(60);
    }
    asked.terms.priority = static_cast<Priority>(rng_.below(4));
    if (rng_.below(4) == 0) asked.terms.tenant = "other";
    if (rng_.below(6) == 0) asked.terms.cache_salt = "salt";
    return asked;
  }

  void ask_some(Engine& engine, Reached& reached) {
    AskedEngine all(engine);
    std::vector<Asked> asked;
    for (int64_t n = 1 + below(6); n > 0; --n) {
      asked.push_back(random_asked());
      all.ask(asked.back());
    }
    const std::deque<Told>& told = all.wait();
    for (size_t i = 0; i < asked.size(); ++i) {
      const Told expected = plainly(plain_, asked[i]);
      EXPECT_TRUE(told[i].same_bytes(expected))
          << "a prompt of " << asked[i].prompt.size() << " tokens, "
          << told[i].timings.n_cached_tokens << " of them cached; told " << told[i].ids.size()
          << " tokens \"" << told[i].text << "\" " << told[i].status.message() << ", expected "
          << expected.ids.size() << " \"" << expected.text << "\"";
      count(told[i], reached);
      if (!asked[i].media.empty()) {
        reached.after_media += told[i].timings.n_cached_tokens >= asked[i].media[0].rows.end;
      }
      Text conversation = {asked[i].prompt, asked[i].media};
      conversation.tokens.insert(conversation.tokens.end(), told[i].ids.begin(), told[i].ids.end());
      conversations_.push_back(std::move(conversation));
    }
  }

  static void count(const Told& told, Reached& reached) {
    const Timings& t = told.timings;
    ++reached.prompts;
    reached.reused += t.n_cached_tokens > 0;
    reached.inside_page += t.n_cached_tokens % 16 != 0;
    reached.inside_group +=
        t.n_cached_tokens > kGroupTokens && t.n_cached_tokens % kGroupTokens > 0;
    reached.whole_prompt += t.n_cached_tokens > 0 && t.n_cached_tokens == t.n_prompt_tokens - 1;
    reached.drafted += t.n_drafted_tokens;
    reached.shifted += t.n_dropped_tokens > 0;
  }

  // A few bytes of the files that the engine left.
  void damage() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const auto size = static_cast<int64_t>(entry.file_size());
      if (size == 0) continue;
      for (int i = 0; i < 3; ++i) {
        flip_bits(entry.path().string(), static_cast<uint64_t>(below(size)), 0xFF);
      }
    }
  }

  const CachedBytesCase& given_;
  std::shared_ptr<const Model> model_;
  Engine& plain_;
  int64_t n_ctx_;
  int64_t n_vocab_ = 0;
  Rng rng_;
  StoreFolder folder_;
  std::vector<Text> texts_;
  std::vector<Text> conversations_;
};

// The model of a case. `folder`: where that of a golden is written to.
Result<std::shared_ptr<const Model>> model_of(const CachedBytesCase& given,
                                              const std::string& folder) {
  const std::string path = std::string(RUV_SOURCE_DIR "/") + given.path;
  const size_t hash = path.find('#');
  if (hash == path.npos) return load_model(path);
  const Json goldens =
      TRY(parse_json(TRY(read_text_file(path.substr(0, hash))), path.substr(0, hash)));
  for (const Json& golden : goldens) {
    if (golden.at("name").get<std::string>() != path.substr(hash + 1)) continue;
    write_folder(folder, golden);
    return load_model(folder);
  }
  return fail(Code::not_found, "{}: there is no such golden", path);
}

class CachedBytes : public testing::TestWithParam<CachedBytesCase> {};

TEST_P(CachedBytes, WhateverIsKeptAndLost) {
  const StoreFolder folder;
  const auto model = model_of(GetParam(), folder.path());
  ASSERT_TRUE(model.has_value()) << model.error().message();
  const int64_t n_ctx =
      std::min<int64_t>(model_info(**model).n_ctx_train, is_tiered(GetParam().kv) ? 700 : 160);
  const auto plain = plain_engine(*model, n_ctx, GetParam().kv);
  const char* const first_text = std::getenv("RUV_FIRST_WORLD");
  const auto first = first_text == nullptr ? 0 : std::strtoull(first_text, nullptr, 10);
  const bool tiered = is_tiered(GetParam().kv);
  Reached reached;
  // Who meets whom depends on threads: where something was not reached yet, a few more worlds.
  const auto goes_on = [&](int world) {
    return world < GetParam().worlds ||
           (!reached.all(GetParam()) && world < 10 * GetParam().worlds);
  };
  for (int world = 0; goes_on(world); ++world) {
    const uint64_t seed = first + static_cast<uint64_t>(world);
    SCOPED_TRACE("RUV_FIRST_WORLD=" + std::to_string(seed));
    CachedWorld(GetParam(), *model, *plain, n_ctx, seed).live(reached);
    if (HasFailure()) return;
  }
  RecordProperty("prompts", static_cast<int>(reached.prompts));
  EXPECT_GT(reached.prompts, 3 * GetParam().worlds);
  EXPECT_GT(reached.reused, reached.prompts / 20);
  EXPECT_EQ(reached.inside_page > 0, !GetParam().states);
  EXPECT_GT(reached.whole_prompt, 0);
  EXPECT_GT(reached.drafted, 0);
  EXPECT_GT(reached.evicted, 0);
  EXPECT_GT(reached.preempted, 0);
  EXPECT_GT(reached.restored, 0);
  EXPECT_GT(reached.damaged, 0);
  EXPECT_GT(reached.after_media, 0);
  EXPECT_GT(reached.shifted, 0);
  EXPECT_EQ(reached.inside_group > 0, tiered);
  EXPECT_EQ(reached.demoted > 0, tiered);
  EXPECT_EQ(reached.behind_window > 0, GetParam().windowed);
  EXPECT_EQ(reached.passed > 0, GetParam().windowed);
}

constexpr const char* kNano = "models/ruvltra-nano-q8_0.gguf";
constexpr CachedBytesCase kCachedBytesCases[] = {
    {"nano_f16", kNano, KvType::f16, 12},
    {"nano_int8", kNano, KvType::int8, 12},
    {"nano_int4", kNano, KvType::int4, 12},
    {"nano_int2", kNano, KvType::int2, 10},
    {"softcap_f16", "tests/golden/models/gemma2/model.gguf", KvType::f16, 120, true},
    {"window_int8", "tests/golden/models/gemma3/model.gguf", KvType::int8, 120, true},
    {"window_and_softcap_int8", "tests/golden/models/gemma2/model.gguf", KvType::int8, 120, true},
    {"states_f16", "tests/golden/models/lfm2/model.gguf", KvType::f16, 120, false, true},
    {"learned_positions_f16", "tests/golden/models/gpt2/model.gguf", KvType::f16, 120},
    {"experts_f16", "tests/golden/models/mixtral/model.gguf", KvType::f16, 60},
    {"shared_keys_f16", "tests/golden/families/gemma4.json#gemma4_shared_keys_and_values",
     KvType::f16, 60, true},
    {"streams_int8", "tests/golden/families/gemma3n.json#gemma3n_gates_cut", KvType::int8, 60,
     true},
    {"shared_blocks_f16", "tests/golden/families/zamba2.json#zamba2_blocks_by_turns", KvType::f16,
     60, false, true},
    {"heads_by_layer_f16", "tests/golden/families/openelm.json#goldens/openelm/10", KvType::f16,
     60},
    {"chosen_keys_f16", "tests/golden/families/deepseek32.json#deepseek32_equal_scores",
     KvType::f16, 60},
    {"chosen_keys_int8", "tests/golden/families/glm-dsa.json#glm-dsa_choices_by_a_period",
     KvType::int8, 60},
    {"matrix_memory_f16", "tests/golden/families/xlstm.json#xlstm_small_divisors", KvType::f16, 60,
     false, true},
};

INSTANTIATE_TEST_SUITE_P(Models, CachedBytes, testing::ValuesIn(kCachedBytesCases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace ruv
