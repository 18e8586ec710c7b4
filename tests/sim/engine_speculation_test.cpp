// Drafting in a whole engine, on a scripted model and a fake clock whose steps have known costs.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/rng.h"
#include "engine/engine_core.h"
#include "sim/scripted_executor.h"

namespace ruv::engine_speculation_test {
namespace {

constexpr int64_t kPages = 256;
constexpr int64_t kVocab = 32;

struct Outcome {
  double ms = 0;
  SpeculativeStats stats;
  std::vector<std::vector<Token>> answers;
};

// Answers of 400 tokens, which repeat themselves, on a machine with these costs.
Outcome run(const StepCost& cost, bool speculative, int64_t n_sequences) {
  FakeClock clock;
  Model model;
  model.h.n_vocab = kVocab;
  EngineOptions options;
  options.n_threads = 1;
  options.n_ctx = 512;
  options.kv.max_tokens = kPages * kPageTokens;
  auto executor = std::make_unique<ScriptedExecutor>(kPages, kVocab, clock);
  executor->set_cost(cost);
  EngineCore core(model, options, clock, EngineParts{.executor = std::move(executor)});
  Outcome outcome;
  outcome.answers.resize(static_cast<size_t>(n_sequences));
  Rng rng(5);
  for (std::vector<Token>& answer : outcome.answers) {
    Request request;
    for (int i = 0; i < 40; ++i) request.prompt.push_back(static_cast<Token>(rng.below(kVocab)));
    request.params.max_tokens = 400;
    request.params.temperature = 0;
    request.params.speculative = speculative;
    request.on_event = [&answer](const Event& event) {
      answer.insert(answer.end(), event.ids.begin(), event.ids.end());
    };
    core.add(core.make_sequence(static_cast<RequestId>(&answer - outcome.answers.data()) + 1,
                                std::move(request)));
  }
  const StopFlag never{false};
  const int64_t begin_ns = clock.now_ns();
  while (core.has_work()) core.step(never);
  outcome.ms = static_cast<double>(clock.now_ns() - begin_ns) * 1e-6;
  outcome.stats = core.speculative_stats();
  return outcome;
}

TEST(EngineSpeculation, TheReportedSpeedUpIsTheRealOne) {
  const StepCost cost = {
      .fixed_ms = 20, .row_ms = 0.5, .context_ms = 0.2, .reach_ms = 0.4, .output_ms = 0.3};
  for (const int64_t n_sequences : {1, 3}) {
    const Outcome plain = run(cost, false, n_sequences);
    const Outcome drafted = run(cost, true, n_sequences);
    EXPECT_EQ(drafted.answers, plain.answers);
    EXPECT_EQ(plain.stats.n_drafted, 0);
    EXPECT_EQ(plain.stats.speed_up, 0);
    EXPECT_EQ(drafted.stats.n_tokens, 399 * n_sequences) << "the first comes with the prompt";
    const double speed_up = plain.ms / drafted.ms;
    EXPECT_GT(speed_up, 1.2) << n_sequences;
    EXPECT_NEAR(drafted.stats.speed_up, speed_up, 0.05 * speed_up) << n_sequences;
  }
}

// The fifth row begins a tile: it costs as much as a step.
TEST(EngineSpeculation, DraftsEndWhereRowsBecomeExpensive) {
  StepCost cost = {.fixed_ms = 20, .row_ms = 0.1};
  const double even = run(cost, true, 1).stats.tokens_per_pass();
  for (int64_t n = 5; n < 64; ++n) cost.factors[static_cast<size_t>(StepCost::size_of(n))] = 2;
  const Outcome tiled = run(cost, true, 1);
  EXPECT_GT(tiled.stats.speed_up, 1.2);
  EXPECT_LT(tiled.stats.tokens_per_pass(), even);
  const auto n_drafted = static_cast<double>(tiled.stats.n_drafted);
  EXPECT_LT(n_drafted, 3 * static_cast<double>(tiled.stats.n_passes));
}

TEST(EngineSpeculation, WhereRowsCostAsMuchAsStepsDraftsCostLittle) {
  const StepCost cost = {.fixed_ms = 0.1, .row_ms = 20};
  const Outcome plain = run(cost, false, 1);
  const Outcome drafted = run(cost, true, 1);
  EXPECT_EQ(drafted.answers, plain.answers);
  EXPECT_LE(drafted.ms, 1.03 * plain.ms);
  EXPECT_LT(drafted.stats.n_drafted, 40);
}

}  // namespace
}  // namespace ruv::engine_speculation_test
