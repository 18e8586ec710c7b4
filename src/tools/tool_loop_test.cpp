#include "tools/tool_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "tools/scripted_tool.h"

namespace ruv {
namespace {

// Answers that were written before, and what came in between.
class ScriptedModel final : public LoopModel {
 public:
  using Round = std::vector<ToolRequest>;
  // The last round is repeated for ever.
  explicit ScriptedModel(std::vector<Round> rounds) : rounds_(std::move(rounds)) {}

  Result<Round> answer(int round, const Cancellation*) override {
    EXPECT_EQ(round, n_answers++);
    const auto last = static_cast<int>(rounds_.size()) - 1;
    return rounds_[static_cast<size_t>(std::min(round, last))];
  }
  void take_results(const std::vector<ToolResult>& results) override {
    for (const ToolResult& result : results) texts.push_back(result.id + " " + result.text);
  }

  int n_answers = 0;
  std::vector<std::string> texts;

 private:
  std::vector<Round> rounds_;
};

ToolSpec spec_of(std::string name, bool needs_consent) {
  return {.name = std::move(name), .description = {}, .needs_consent = needs_consent};
}

// "free" runs without consent, "asks" with it; both return their arguments. "stop" cancels.
struct LoopWorld {
  LoopWorld() {
    const auto echo = [this](const Json& arguments, const ToolCallTerms&) {
      n_run.fetch_add(1);
      return ToolReply{arguments.dump()};
    };
    const auto stop = [this](const Json&, const ToolCallTerms& terms) -> Result<ToolReply> {
      cancellation.cancel();
      EXPECT_TRUE(terms.is_cancelled());
      return fail(Code::cancelled, "stopped");
    };
    EXPECT_TRUE(
        registry
            .set_tools("test", {std::make_shared<ScriptedTool>(spec_of("free", false), echo),
                                std::make_shared<ScriptedTool>(spec_of("asks", true), echo),
                                std::make_shared<ScriptedTool>(spec_of("stop", false), stop)})
            .ok());
  }
  // Every tool wants {"n": …} and nothing else.
  static Result<ArgumentCheck> needs_n(const ToolSpec& spec) {
    if (spec.name == "stop") return ArgumentCheck();
    return ArgumentCheck([](std::string_view text) {
      return text.starts_with(R"({"n":)") ? Status() : Status(Code::invalid, "'n' is missing");
    });
  }

  ToolRegistry registry{needs_n};
  Cancellation cancellation;
  std::atomic<int> n_run{0};
};

using Texts = std::vector<std::string>;

TEST(ToolLoop, GivesResultsUntilAnAnswerCallsNothing) {
  LoopWorld world;
  ScriptedModel model({{{"1", "free", R"({"n":1})"}, {"2", "free", R"({"n":2})"}},
                       {{"3", "free", R"({"n":3})"}},
                       {}});
  Texts seen;
  const ToolLoopWatch watch{
      .on_call = [&](const ToolRequest& call) { seen.push_back("call " + call.id); },
      .on_result = [&](const ToolResult& result) { seen.push_back("result " + result.id); }};
  const auto outcome =
      ToolLoop(world.registry, {.executor = {.max_parallel = 1}}).run(model, watch);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->end, ToolLoopEnd::answered);
  EXPECT_EQ(outcome->n_rounds, 2);
  EXPECT_EQ(outcome->n_calls, 3);
  EXPECT_EQ(outcome->n_failed, 0);
  EXPECT_EQ(model.n_answers, 3);
  EXPECT_EQ(model.texts, (Texts{R"(1 {"n":1})", R"(2 {"n":2})", R"(3 {"n":3})"}));
  EXPECT_EQ(seen, (Texts{"call 1", "call 2", "result 1", "result 2", "call 3", "result 3"}));
}

TEST(ToolLoop, GivesErrorsBackAndGoesOn) {
  LoopWorld world;
  ScriptedModel model({{{"1", "free", "{}"}, {"2", "none", "{}"}, {"3", "asks", "{"}},
                       {{"4", "free", R"({"n":1})"}},
                       {}});
  bool was_asked = false;
  const auto ask = [&](const ToolRequest&, const RegisteredTool&) { return was_asked = true; };
  const auto outcome = ToolLoop(world.registry).run(model, {.may_run = ask});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->end, ToolLoopEnd::answered);
  EXPECT_EQ(outcome->n_failed, 3);
  EXPECT_EQ(world.n_run, 1);
  EXPECT_EQ(model.texts[0], "1 error (invalid): 'n' is missing");
  EXPECT_EQ(model.texts[1], "2 error (not_found): there is no tool 'none'");
  EXPECT_TRUE(model.texts[2].starts_with("3 error (corrupt): arguments:")) << model.texts[2];
  EXPECT_FALSE(was_asked) << "a call that cannot run was asked about";
}

TEST(ToolLoop, StopsAfterSoManyRounds) {
  LoopWorld world;
  ScriptedModel model({{{"1", "free", R"({"n":1})"}}});
  const auto outcome = ToolLoop(world.registry, {.max_rounds = 3}).run(model);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->end, ToolLoopEnd::rounds);
  EXPECT_EQ(outcome->n_rounds, 3);
  EXPECT_EQ(model.texts.size(), 3u);
  EXPECT_EQ(model.n_answers, 3);
}

TEST(ToolLoop, RunsWhatIsAllowed) {
  const ScriptedModel::Round calls{
      {"1", "asks", R"({"n":1})"}, {"2", "free", R"({"n":2})"}, {"3", "asks", R"({"n":3})"}};
  constexpr std::string_view kDenied =
      " error (unavailable): the user did not allow this call; do not repeat it";
  for (const bool has_person : {false, true}) {
    LoopWorld world;
    ScriptedModel model({calls, {}});
    ToolLoopWatch watch;
    if (has_person) {
      watch.may_run = [&](const ToolRequest& call, const RegisteredTool& tool) {
        EXPECT_EQ(tool.spec().name, "asks");
        EXPECT_EQ(world.n_run, 0) << "calls ran before all questions were asked";
        return call.id == "3";
      };
    }
    const auto outcome = ToolLoop(world.registry).run(model, watch);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(model.texts[0], "1" + std::string(kDenied));
    EXPECT_EQ(model.texts[1], R"(2 {"n":2})");
    EXPECT_EQ(model.texts[2], has_person ? R"(3 {"n":3})" : "3" + std::string(kDenied));
    EXPECT_EQ(world.n_run, has_person ? 2 : 1);
  }
}

TEST(ToolLoop, BoundsTheCallsOfAnAnswer) {
  LoopWorld world;
  ScriptedModel model({ScriptedModel::Round(5, {"1", "free", R"({"n":1})"}), {}});
  const auto outcome = ToolLoop(world.registry, {.max_calls = 2}).run(model);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(world.n_run, 2);
  EXPECT_EQ(outcome->n_failed, 3);
  EXPECT_EQ(model.texts[4], "1 error (invalid): an answer may have at most 2 calls");
}

TEST(ToolLoop, EndsWhenItIsCancelled) {
  LoopWorld world;
  ScriptedModel model({{{"1", "stop", "{}"}, {"2", "free", R"({"n":1})"}}});
  const auto outcome = ToolLoop(world.registry, {.executor = {.max_parallel = 1}})
                           .run(model, {}, &world.cancellation);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->end, ToolLoopEnd::cancelled);
  EXPECT_EQ(model.n_answers, 1);
  EXPECT_EQ(model.texts,
            (Texts{"1 error (cancelled): stopped", "2 error (cancelled): the call was cancelled"}));
}

TEST(ToolLoop, ACancellationAtAQuestionStopsAllCalls) {
  LoopWorld world;
  ScriptedModel model(
      {{{"1", "free", R"({"n":1})"}, {"2", "asks", R"({"n":2})"}, {"3", "asks", R"({"n":3})"}}});
  int n_asked = 0;
  const auto ask = [&](const ToolRequest&, const RegisteredTool&) {
    ++n_asked;
    world.cancellation.cancel();
    return false;
  };
  const auto outcome = ToolLoop(world.registry).run(model, {.may_run = ask}, &world.cancellation);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->end, ToolLoopEnd::cancelled);
  EXPECT_EQ(n_asked, 1);
  EXPECT_EQ(world.n_run, 0);
  EXPECT_EQ(model.texts.size(), 3u);
}

TEST(RegisteredTool, SaysWhyNothingCanBeChecked) {
  ToolRegistry registry([](const ToolSpec& spec) -> Result<ArgumentCheck> {
    if (spec.name == "b") return fail(Code::unsupported, "#/$ref: elsewhere");
    return ArgumentCheck();
  });
  ASSERT_TRUE(registry.set_tools("x", {echo_tool("a"), echo_tool("b")}).ok());
  EXPECT_TRUE(registry.find("a")->check_schema().ok());
  EXPECT_EQ(registry.find("b")->check_schema().message(), "#/$ref: elsewhere");
  EXPECT_EQ(registry.find("b")->read_arguments("{}").error().message(), "#/$ref: elsewhere");
}

TEST(ToolLoop, FailsAsTheModel) {
  class Failing final : public LoopModel {
    Result<std::vector<ToolRequest>> answer(int, const Cancellation*) override {
      return fail(Code::invalid, "the context is full");
    }
    void take_results(const std::vector<ToolResult>&) override { FAIL(); }
  } model;
  const ToolRegistry registry;
  const auto outcome = ToolLoop(registry).run(model);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message(), "the context is full");
}

}  // namespace
}  // namespace ruv
