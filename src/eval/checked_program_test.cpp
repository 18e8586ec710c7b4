// What counts as a program that passes: it runs to its end. Needs the sandbox's programs.
#include "eval/checked_program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "eval/published_task.h"

namespace ruv::checked_program_test {
namespace {

// Whether this machine lacks what a sandbox needs. Every other failure is one of the test.
bool has_no_sandbox(const Result<ProgramCheck>& opened) {
  if (opened) return false;
  return opened.error().code() == Code::unsupported || opened.error().code() == Code::not_found;
}

class CheckedProgram : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = ProgramCheck::open(
        {.timeout_ms = 60'000, .max_output_bytes = 1 << 16, .max_memory_bytes = uint64_t{1} << 30});
    if (has_no_sandbox(opened)) GTEST_SKIP() << opened.error().message();
    ASSERT_TRUE(opened) << opened.error().message();
    check_ = std::make_unique<ProgramCheck>(*std::move(opened));
  }
  bool passes(const std::string& program) const { return check_->passes(program).value(); }
  std::unique_ptr<ProgramCheck> check_;
};

TEST_F(CheckedProgram, PassesWhereItsTestHolds) {
  EXPECT_TRUE(
      passes("def f(x):\n    return x + 1\n\ndef check(g):\n    assert g(1) == 2\n\ncheck(f)"));
  EXPECT_FALSE(
      passes("def f(x):\n    return x\n\ndef check(g):\n    assert g(1) == 2\n\ncheck(f)"));
  EXPECT_FALSE(passes("def f(x)\n"));
  EXPECT_TRUE(passes("print('a' * 1000)\nif __name__ == '__main__':\n    raise ValueError"));
}

TEST_F(CheckedProgram, DoesNotPassByLeavingEarly) {
  EXPECT_FALSE(passes("import sys\nsys.exit(0)\n"));
  EXPECT_FALSE(passes("import os\nos._exit(0)\n"));
  EXPECT_FALSE(passes("print('x' * 100000)"));
}

TEST_F(CheckedProgram, ReachesNothingOutside) {
  EXPECT_FALSE(passes("import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=5)"));
  EXPECT_FALSE(passes("open('/etc/ruv_written', 'w').write('x')"));
  EXPECT_FALSE(passes("import os\nassert os.listdir('/home')"));
}

// Of the published tasks, some: what their authors wrote passes, and nothing does not.
TEST_F(CheckedProgram, PublishedSolutionsPass) {
  const char* const folder = std::getenv("RUV_DATA_DIR");
  const std::string path =
      (folder != nullptr ? std::string(folder) : RUV_SOURCE_DIR "/../shared/data") +
      "/eval/humaneval.jsonl";
  const auto content = read_text_file(path);
  if (!content && content.error().code() == Code::not_found) GTEST_SKIP() << "no " << path;
  ASSERT_TRUE(content) << content.error().message();
  const EvalTask task = *read_published(PublishedForm::humaneval, {*content, path}, {});
  std::istringstream lines(*content);
  std::string line;
  constexpr size_t kStep = 12;
  for (size_t i = 0; std::getline(lines, line); ++i) {
    if (i % kStep != 0) continue;
    const Json json = *parse_json(line, path);
    const EvalSample& sample = task.samples[i];
    const std::string solution = json["canonical_solution"].get<std::string>();
    EXPECT_TRUE(passes(sample.context + solution + "\n" + sample.expected)) << i;
    EXPECT_FALSE(passes(sample.context + "    return None\n" + sample.expected)) << i;
  }
}

TEST(CheckedProgramTime, EndlessOnesAreStopped) {
  const auto check = ProgramCheck::open({.timeout_ms = 300});
  if (has_no_sandbox(check)) GTEST_SKIP() << check.error().message();
  ASSERT_TRUE(check) << check.error().message();
  EXPECT_FALSE(check->passes("while True: pass").value());
}

TEST(PublishedTask, HumanEvalAsksForTheRestOfAProgram) {
  const std::string line =
      R"({"task_id":"t","prompt":"def f():\n","entry_point":"f","canonical_solution":" x",)"
      R"("test":"def check(g): pass\n"})";
  const EvalTask task = *read_published(PublishedForm::humaneval, {line, "f"}, {});
  ASSERT_EQ(task.samples.size(), 1U);
  EXPECT_EQ(task.kind, SampleKind::answer);
  EXPECT_EQ(task.rules, std::vector{AnswerRule::passes});
  EXPECT_EQ(task.samples[0].context, "def f():\n");
  EXPECT_EQ(task.samples[0].expected, "def check(g): pass\n\ncheck(f)");
  EXPECT_EQ(task.samples[0].max_new_tokens, 1024);
  EXPECT_EQ(task.samples[0].until.size(), 5U);
  const auto refused = read_published(PublishedForm::humaneval, {R"({"prompt":"x"})", "f"}, {});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message().starts_with("f: line 1: \"entry_point\""));
  EXPECT_FALSE(
      read_published(PublishedForm::humaneval, {line, "f"}, {.n_shots = 1, .shots = {line, "g"}}));
}

}  // namespace
}  // namespace ruv::checked_program_test
