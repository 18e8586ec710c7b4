// What requests get from a whole engine under load, on a scripted model and a fake clock: tenants
// equal service, the unimportant an end, streams their pace.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/rng.h"
#include "engine/engine_core.h"
#include "sim/scripted_executor.h"

namespace ruv::engine_service_test {
namespace {

constexpr int64_t kVocab = 32;

class Service {
 public:
  explicit Service(int64_t max_sequences, int64_t n_pages = 1024) {
    model_.h.n_vocab = kVocab;
    EngineOptions options;
    options.n_threads = 1;
    options.n_ctx = std::min<int64_t>(8192, n_pages * kPageTokens);
    options.max_sequences = max_sequences;
    options.kv.max_tokens = n_pages * kPageTokens;
    auto executor = std::make_unique<ScriptedExecutor>(n_pages, kVocab, clock_);
    executor_ = executor.get();
    core_ = std::make_unique<EngineCore>(model_, options, clock_,
                                         EngineParts{.executor = std::move(executor)});
  }
  void set_cost(const StepCost& cost) { executor_->set_cost(cost); }

  // `on_event` sees the time too.
  void add(int64_t n_prompt, int64_t n_answer, ServiceTerms terms,
           std::function<void(const Event&)> on_event) {
    Request request;
    for (int64_t i = 0; i < n_prompt; ++i) {
      request.prompt.push_back(static_cast<Token>(rng_.below(kVocab)));
    }
    request.params.max_tokens = n_answer;
    request.params.temperature = 0;
    request.params.speculative = false;
    request.terms = std::move(terms);
    request.on_event = std::move(on_event);
    core_->add(core_->make_sequence(++n_requests_, std::move(request)));
  }

  bool step() {
    core_->step(never_);
    return core_->has_work();
  }
  KvCacheStats kv_stats() const { return core_->kv_stats(); }
  double now_ms() const { return static_cast<double>(clock_.now_ns()) * 1e-6; }

 private:
  FakeClock clock_;
  Model model_;
  Rng rng_{7};
  RequestId n_requests_ = 0;
  const StopFlag never_{false};
  ScriptedExecutor* executor_ = nullptr;  // the core's
  std::unique_ptr<EngineCore> core_;
};

TEST(EngineService, ATenantWithTenTimesTheRequestsGetsNoMore) {
  Service service(4);
  std::map<std::string, double> served;
  int n_light = 30;
  for (int i = 0; i < 330; ++i) {
    const std::string tenant = i % 11 == 0 ? "light" : "heavy";
    service.add(60, 20, {.tenant = tenant}, [&served, &n_light, tenant](const Event& event) {
      if (event.finish == FinishReason::none) return;
      served[tenant] += 60 + 2 * 20;
      n_light -= tenant == "light";
    });
  }
  while (n_light > 0) ASSERT_TRUE(service.step());
  EXPECT_LE(served["heavy"], 2 * served["light"]);
  EXPECT_GE(served["heavy"], served["light"] / 2);
}

// Of the second of two, one after the other.
TEST(EngineService, AnAnswerTellsWhatItTook) {
  Service service(1);
  const double begin_ms = service.now_ms();
  double first_over_ms = 0;
  double first_token_ms = 0;
  Event last;
  service.add(40, 7, {}, [&](const Event&) { first_over_ms = service.now_ms(); });
  service.add(30, 5, {}, [&](const Event& event) {
    if (first_token_ms == 0) first_token_ms = service.now_ms();
    last = event;
  });
  while (service.step()) {
  }
  const Timings& t = last.timings;
  constexpr double kTolerance = 1e-5;
  EXPECT_NEAR(t.queue_ms, first_over_ms - begin_ms, kTolerance);
  EXPECT_NEAR(t.prefill_ms, first_token_ms - first_over_ms, kTolerance);
  EXPECT_NEAR(t.decode_ms, service.now_ms() - first_token_ms, kTolerance);
  EXPECT_GT(t.queue_ms, 1);
  EXPECT_GT(t.decode_ms, 1);
  EXPECT_EQ(t.n_prompt_tokens, 30);
  EXPECT_EQ(t.n_generated_tokens, 5);
  EXPECT_NEAR(t.prefill_tokens_per_s * t.prefill_ms, 30 * 1000, 1);
  EXPECT_NEAR(t.decode_tokens_per_s * t.decode_ms, 4 * 1000, 1);
}

TEST(EngineService, NoMoreIsEvictedThanIsNeeded) {
  Service service(1, 16);
  const auto ask = [&](int64_t n_pages) {
    service.add(n_pages * kPageTokens, 1, {}, [](const Event&) {});
    while (service.step()) {
    }
  };
  ask(7);
  ask(7);
  EXPECT_EQ(service.kv_stats().evicted_pages, 0);
  ask(4);  // two are free
  EXPECT_EQ(service.kv_stats().evicted_pages, 2);
}

// What was generated counts, not only prompts.
TEST(EngineService, LongAnswersOfOneTenantMakeItWait) {
  Service service(1);
  std::string order;
  for (int i = 0; i < 4; ++i) {
    service.add(20, 100, {.tenant = "long"}, [&](const Event& event) {
      if (event.finish != FinishReason::none) order += 'l';
    });
    service.add(20, 1, {.tenant = "short"}, [&](const Event& event) {
      if (event.finish != FinishReason::none) order += 's';
    });
  }
  while (order.size() < 8) ASSERT_TRUE(service.step() || order.size() == 8);
  EXPECT_EQ(order, "lsssslll");
}

TEST(EngineService, TheUnimportantAreServedInTheEnd) {
  Service service(2);
  double first_token_ms = 0;
  const double begin_ms = service.now_ms();
  const auto ignore = [](const Event&) {};
  for (int i = 0; i < 4; ++i) service.add(60, 20, {.priority = Priority::high}, ignore);
  service.add(60, 20, {.priority = Priority::low}, [&](const Event& event) {
    if (first_token_ms == 0 && !event.ids.empty()) first_token_ms = service.now_ms() - begin_ms;
  });
  for (int i = 0; first_token_ms == 0; ++i) {
    if (i % 8 == 0) service.add(60, 20, {.priority = Priority::high}, ignore);
    ASSERT_TRUE(service.step());
    ASSERT_LT(i, 20000);
  }
  const double ageing_ms = static_cast<double>(SchedulerLimits().ageing_ms);
  EXPECT_GT(first_token_ms, ageing_ms);
  EXPECT_LT(first_token_ms, 5 * ageing_ms);
}

// Four streams and a prompt of 6,000 on a machine with these costs: how many times what the streams
// alone would take each gap between tokens is, while the prompt is computed.
std::vector<double> gaps_beside_a_prompt(const StepCost& cost) {
  constexpr int64_t kPrompt = 40;
  Service service(8);
  service.set_cost(cost);
  std::vector<double> gaps;
  double last_ms = 0;
  int64_t n_computed = kPrompt;
  bool prompt_runs = false;
  bool prompt_ends = false;
  const auto ignore = [](const Event&) {};
  for (int i = 0; i < 3; ++i) service.add(kPrompt, 3000, {}, ignore);
  service.add(kPrompt, 3000, {}, [&](const Event&) {
    StepShape alone;
    for (int i = 0; i < 4; ++i) alone = alone + StepShape::of(n_computed, 1);
    if (prompt_runs) gaps.push_back((service.now_ms() - last_ms) / cost.step_ms(alone));
    last_ms = service.now_ms();
    ++n_computed;
  });
  // The costs are learned from steps: some prompts before it counts.
  for (int i = 0; i < 100; ++i) {
    if (i % 20 == 0) service.add(100, 5, {}, ignore);
    EXPECT_TRUE(service.step());
  }
  service.add(6000, 1, {}, [&](const Event&) { prompt_ends = true; });
  prompt_runs = true;
  while (!prompt_ends) EXPECT_TRUE(service.step());
  std::ranges::sort(gaps);
  return gaps;
}

TEST(EngineService, ALongPromptSlowsStreamsByTheTargetAtMost) {
  // As measured on two cores with 0.5 billion parameters, with keys that are read once for all rows
  // of a prompt and kernels that do not like 16 rows.
  StepCost measured = {.fixed_ms = 5, .row_ms = 0.55, .context_ms = 0.21, .reach_ms = 0.2};
  for (const int64_t n : {16, 17}) {
    measured.factors[static_cast<size_t>(StepCost::size_of(n))] = 1.35;
  }
  for (const StepCost& cost : {StepCost{.fixed_ms = 5, .row_ms = 0.5}, measured}) {
    const double target = SchedulerLimits().step_target;
    const std::vector<double> gaps = gaps_beside_a_prompt(cost);
    ASSERT_GT(gaps.size(), 200U);
    EXPECT_LE(gaps[gaps.size() * 99 / 100], 1.03 * target);
    EXPECT_GE(gaps[gaps.size() / 2], 0.85 * target) << "the prompt uses what it may";
    // Now and then the streams go alone, and no more often than that.
    const auto n_alone = std::ranges::count_if(gaps, [](double gap) { return gap < 1.05; });
    const int64_t every = SchedulerLimits().max_mixed_steps + 1;
    EXPECT_NEAR(static_cast<double>(n_alone), static_cast<double>(std::ssize(gaps) / every), 2);
  }
}

}  // namespace
}  // namespace ruv::engine_service_test
