// What two scopes (a tenant and a salt) learn of each other: nothing. Neither guesses nor the time
// until an answer begins tell whether another scope asked the same.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/rng.h"
#include "engine/engine_core.h"
#include "sim/scripted_executor.h"

namespace ruv::engine_scopes_test {
namespace {

constexpr int64_t kPages = 128;
constexpr int64_t kVocab = 4096;  // so many that a text hardly repeats itself

class EngineScopes : public testing::Test {
 protected:
  EngineScopes() {
    model_.h.n_vocab = kVocab;
    options_.n_threads = 1;
    options_.n_ctx = 512;
    options_.max_sequences = 4;
    options_.kv.max_tokens = kPages * kPageTokens;
    core_ = std::make_unique<EngineCore>(
        model_, options_, clock_,
        EngineParts{.executor = std::make_unique<ScriptedExecutor>(kPages, kVocab, clock_)});
    for (int i = 0; i < 70; ++i) prompt_.push_back(static_cast<Token>(rng_.below(kVocab)));
  }

  // Asks the same as all others. `last` becomes its last event.
  void add(const ServiceTerms& terms, Event& last) {
    Request request;
    request.prompt = prompt_;
    request.params.max_tokens = max_tokens_;
    request.params.temperature = 0;
    request.terms = terms;
    request.on_event = [&last](const Event& event) {
      if (event.finish != FinishReason::none) last = event;
    };
    core_->add(core_->make_sequence(++n_requests_, std::move(request)));
  }
  int64_t n_drafted(const ServiceTerms& terms) {
    Event last;
    add(terms, last);
    while (core_->has_work()) core_->step(never_);
    EXPECT_EQ(last.finish, FinishReason::length);
    return last.timings.n_drafted_tokens;
  }
  // Of two at once, after the step that can begin both.
  int64_t n_begun(const ServiceTerms& first, const ServiceTerms& second) {
    Event ends[2];
    add(first, ends[0]);
    add(second, ends[1]);
    core_->step(never_);
    const int64_t n_running = core_->load().n_running;
    while (core_->has_work()) core_->step(never_);
    for (const Event& end : ends) EXPECT_EQ(end.finish, FinishReason::length);
    return n_running;
  }

  Rng rng_{11};
  FakeClock clock_;
  Model model_;
  EngineOptions options_;
  std::vector<Token> prompt_;
  int64_t max_tokens_ = 60;
  RequestId n_requests_ = 0;
  const StopFlag never_{false};
  std::unique_ptr<EngineCore> core_;
};

TEST_F(EngineScopes, GuessesComeFromAnswersOfTheSameScopeOnly) {
  const ServiceTerms own = {.tenant = "ann", .cache_salt = "s"};
  n_drafted(own);
  // Until the engine is sure that guesses gain.
  int64_t n_own = 0;
  for (int i = 0; i < 10 && n_own == 0; ++i) n_own = n_drafted(own);
  ASSERT_GT(n_own, 0) << "an answer that was given before is guessed";
  EXPECT_EQ(n_drafted({.tenant = "ann"}), 0) << "another salt";
  EXPECT_EQ(n_drafted({.tenant = "ann", .cache_salt = "t"}), 0) << "another salt";
  EXPECT_EQ(n_drafted({.tenant = "bob", .cache_salt = "s"}), 0) << "another tenant";
  EXPECT_GT(n_drafted(own), 0);
}

// The last token that may come is drawn from the row before it.
TEST_F(EngineScopes, NoMoreIsGuessedThanMayCome) {
  int64_t n_drafted_most = 0;
  for (int i = 0; i < 10; ++i) n_drafted_most = std::max(n_drafted_most, n_drafted({}));
  ASSERT_GT(n_drafted_most, 2);
  EXPECT_LE(n_drafted_most, max_tokens_);
  max_tokens_ = 3;
  EXPECT_LE(n_drafted({}), 1);
  max_tokens_ = 1;
  EXPECT_EQ(n_drafted({}), 0);
}

TEST_F(EngineScopes, NobodyWaitsForThePrefixOfAnotherScope) {
  const ServiceTerms terms[] = {{.tenant = "ann", .cache_salt = "s"},
                                {.tenant = "ann", .cache_salt = "t"},
                                {.tenant = "bob", .cache_salt = "s"}};
  EXPECT_EQ(n_begun(terms[1], terms[2]), 2) << "another tenant";
  prompt_[0] ^= 1;
  EXPECT_EQ(n_begun(terms[0], terms[1]), 2) << "another salt";
  prompt_[0] ^= 2;
  EXPECT_EQ(n_begun(terms[0], terms[0]), 1) << "the second takes what the first computes";
}

}  // namespace
}  // namespace ruv::engine_scopes_test
