// Many requests at an engine at once, and their answers as bytes that can be compared: ids, text,
// why they ended and the exact bits of all log-probabilities.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "engine/prompt_media.h"
#include "engine/test_gate_file.h"
#include "fault/patience.h"
#include "ruv/engine.h"

namespace ruv {

struct Asked {
  std::vector<Token> prompt;
  GenerateParams params;
  ServiceTerms terms = {};
  std::vector<MediaSpan> media = {};
  const Model* model = nullptr;  // that the media were made for
};

struct Told {
  RequestId id = 0;
  std::vector<Token> ids;
  std::string text;
  std::string logprob_bits;
  FinishReason finish = FinishReason::none;
  Status status;
  Timings timings;

  bool same_bytes(const Told& other) const {
    return ids == other.ids && text == other.text && logprob_bits == other.logprob_bits &&
           finish == other.finish && status.code() == other.status.code();
  }
};

// Requests and what came of them. Outlives the engine, or waits for all before.
class AskedEngine {
 public:
  explicit AskedEngine(Engine& engine) : engine_(&engine) {}
  AskedEngine(const AskedEngine&) = delete;
  AskedEngine& operator=(const AskedEngine&) = delete;
  ~AskedEngine() { (void)wait(); }

  // An index into wait()'s answers.
  size_t ask(const Asked& asked) {
    Told* told = nullptr;
    {
      const std::lock_guard lock(mutex_);
      told = &told_.emplace_back();
    }
    Request request;
    request.prompt = asked.prompt;
    request.params = asked.params;
    request.terms = asked.terms;
    request.on_event = [this, told](const Event& event) { hear(*told, event); };
    if (!asked.media.empty()) {
      request.media = std::make_shared<LoadedMedia>(asked.model, asked.media);
    }
    const Result<RequestId> id = engine_->submit(std::move(request));
    EXPECT_TRUE(id.has_value()) << id.error().message();
    const std::lock_guard lock(mutex_);
    if (id) told->id = *id;
    if (!id) told->finish = FinishReason::error;
    return told_.size() - 1;
  }
  RequestId id(size_t i) const { return told_[i].id; }

  const std::deque<Told>& wait() {
    std::unique_lock lock(mutex_);
    const auto over = [&] {
      for (const Told& told : told_) {
        if (told.finish == FinishReason::none) return false;
      }
      return true;
    };
    for (int64_t n_before = -1; !over_.wait_for(lock, kPatience, over); n_before = n_heard_) {
      if (n_before == n_heard_) give_up_waiting("the engine's next event");
    }
    return told_;
  }

 private:
  void hear(Told& told, const Event& event) {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(told.finish, FinishReason::none) << "an event after the last one";
    ++n_heard_;
    told.ids.insert(told.ids.end(), event.ids.begin(), event.ids.end());
    told.text += event.text;
    const auto add = [&](const TokenLogprob& l) {
      told.logprob_bits.append(reinterpret_cast<const char*>(&l.id), sizeof l.id);
      told.logprob_bits.append(reinterpret_cast<const char*>(&l.logprob), sizeof l.logprob);
    };
    for (const Event::Logprobs& logprobs : event.logprobs) {
      add(logprobs.chosen);
      for (const TokenLogprob& l : logprobs.top) add(l);
    }
    if (event.finish == FinishReason::none) return;
    told.timings = event.timings;
    told.status = event.status;
    told.finish = event.finish;
    over_.notify_all();
  }

  Engine* engine_;
  std::mutex mutex_;
  std::condition_variable over_;
  int64_t n_heard_ = 0;
  std::deque<Told> told_;  // its elements stay where they are
};

// An engine that computes each request alone, from its first token on, one token at a time.
inline std::unique_ptr<Engine> plain_engine(const std::shared_ptr<const Model>& model,
                                            int64_t n_ctx, KvType type) {
  KvCacheConfig kv = kv_of(type);
  kv.keep_prefixes = false;
  auto engine =
      Engine::create(model, {.n_threads = 1, .n_ctx = n_ctx, .max_sequences = 1, .kv = kv});
  EXPECT_TRUE(engine.has_value()) << engine.error().message();
  return std::move(*engine);
}

inline Told plainly(Engine& plain, Asked asked) {
  asked.params.speculative = false;
  asked.params.cache_prefix = false;
  asked.terms = {};
  AskedEngine one(plain);
  one.ask(asked);
  return one.wait()[0];
}

}  // namespace ruv
