#include "tools/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>

#include "base/utf8.h"
#include "tools/cut_text.h"
#include "tools/scripted_tool.h"

namespace ruv::executor_test {
namespace {

std::shared_ptr<Tool> tool_of(std::string name, ScriptedTool::Answer answer) {
  return std::make_shared<ScriptedTool>(ToolSpec{.name = std::move(name), .description = {}},
                                        std::move(answer));
}

TEST(CutText, SaysHowMuchIsLeftOut) {
  EXPECT_EQ(cut_text("short", 5), "short");
  EXPECT_EQ(cut_text("0123456789abcdef", 8), "012345\n[… 8 bytes left out …]\nef");
  EXPECT_EQ(cut_text("a\xFFz", 10), "a\uFFFDz");
  for (size_t n = 0; n < 40; ++n) EXPECT_TRUE(is_valid_utf8(cut_text("äöü€𝄞äöü€𝄞äöü€𝄞äöü€𝄞", n)));
}

TEST(ToolExecutor, GivesResultsInOrderAndErrorsAsText) {
  ToolRegistry registry;
  const auto failing = [](const Json&, const ToolCallTerms&) -> Result<ToolReply> {
    return fail(Code::unavailable, "try later");
  };
  ASSERT_TRUE(registry.set_tools("x", {echo_tool("echo"), tool_of("fails", failing)}).ok());
  const std::vector<ToolRequest> calls{
      {"1", "echo", R"({"a":1})"}, {"2", "fails", ""}, {"3", "none", "{}"}, {"4", "echo", "{"}};
  for (const int max_parallel : {1, 3}) {
    const auto results = ToolExecutor(registry, {.max_parallel = max_parallel}).run(calls);
    ASSERT_EQ(results.size(), 4u);
    EXPECT_EQ(results[0].text, R"({"a":1})");
    EXPECT_FALSE(results[0].is_error);
    EXPECT_EQ(results[1].text, "error (unavailable): try later");
    EXPECT_TRUE(results[1].is_error && !results[1].is_refused);
    EXPECT_EQ(results[2].text, "error (not_found): there is no tool 'none'");
    EXPECT_TRUE(results[2].is_refused);
    EXPECT_TRUE(results[3].is_refused);
    EXPECT_EQ(results[3].id, "4");
  }
}

TEST(ToolExecutor, RunsAsManyAtOnceAsAllowed) {
  std::barrier all_three(3);
  ToolRegistry registry;
  const auto waits = [&](const Json&, const ToolCallTerms&) {
    all_three.arrive_and_wait();
    return ToolReply{"met"};
  };
  ASSERT_TRUE(registry.set_tools("x", {tool_of("meet", waits)}).ok());
  const std::vector<ToolRequest> calls(3, ToolRequest{"", "meet", ""});
  for (const ToolResult& result : ToolExecutor(registry, {.max_parallel = 3}).run(calls))
    EXPECT_EQ(result.text, "met");
}

TEST(ToolExecutor, NeverRunsMoreAtOnceThanAllowed) {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  ToolRegistry registry;
  const auto counts = [&](const Json&, const ToolCallTerms&) {
    const int now = ++running;
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
    yield_thread();
    --running;
    return ToolReply{};
  };
  ASSERT_TRUE(registry.set_tools("x", {tool_of("count", counts)}).ok());
  const std::vector<ToolRequest> calls(200, ToolRequest{"", "count", ""});
  EXPECT_EQ(ToolExecutor(registry, {.max_parallel = 2}).run(calls).size(), 200u);
  EXPECT_LE(most, 2);
}

TEST(ToolExecutor, CutsResultsToTheirShare) {
  ToolRegistry registry;
  const auto large = [](const Json&, const ToolCallTerms&) {
    return ToolReply{std::string(1000, 'x')};
  };
  ASSERT_TRUE(registry.set_tools("x", {tool_of("large", large)}).ok());
  const std::vector<ToolRequest> calls(4, ToolRequest{"", "large", ""});
  const ToolExecutor executor(registry, {.max_result_bytes = 400, .max_total_bytes = 800});
  EXPECT_NE(executor.run({calls.data(), 1})[0].text.find("600 bytes left out"), std::string::npos);
  EXPECT_NE(executor.run(calls)[3].text.find("800 bytes left out"), std::string::npos);
}

TEST(ToolExecutor, CancelsWhatRunsAndWhatWaits) {
  Cancellation cancellation;
  ToolRegistry registry;
  const auto cancels = [&](const Json&, const ToolCallTerms& terms) -> Result<ToolReply> {
    bool heard = false;
    const Cancellation::Watch watch(*terms.cancellation, [&] { heard = true; });
    cancellation.cancel();
    EXPECT_TRUE(heard);
    return fail(Code::cancelled, "stopped");
  };
  ASSERT_TRUE(registry.set_tools("x", {tool_of("cancel", cancels)}).ok());
  const std::vector<ToolRequest> calls(3, ToolRequest{"", "cancel", ""});
  int n_seen = 0;
  const auto results =
      ToolExecutor(registry, {.max_parallel = 1}).run(calls, &cancellation, [&](const ToolResult&) {
        ++n_seen;
      });
  EXPECT_EQ(results[0].text, "error (cancelled): stopped");
  EXPECT_EQ(results[2].text, "error (cancelled): the call was cancelled");
  EXPECT_EQ(n_seen, 3);
}

}  // namespace
}  // namespace ruv::executor_test
