#include <gtest/gtest.h>

#include "eval/sample.h"

namespace ruv {
namespace {

TEST(EvalTask, ReadsLinesOfOneKindAndRefusesOthersByLine) {
  const std::string choices = R"({"context":"a","choices":["b","c"],"answer":1})";
  const EvalTask task = read_task_lines(choices + "\n\n" + choices, "f", 0).value();
  ASSERT_EQ(task.samples.size(), 2U);
  EXPECT_EQ(task.samples[1].gold, 1U);
  EXPECT_EQ(read_task_lines(choices + "\nbroken", "f", 1).value().samples.size(), 1U);
  for (const char* const second :
       {"[]", "{", R"({"text":"x"})", R"({"context":"a","choices":["b"],"answer":1})",
        R"({"context":"a","choices":["b"],"answer":0,"shots":1})"}) {
    const auto refused = read_task_lines(choices + "\n" + second, "f", 0);
    ASSERT_FALSE(refused) << second;
    EXPECT_TRUE(refused.error().message().starts_with("f: line 2: ")) << second;
  }
  EXPECT_FALSE(read_task_lines("\n", "f", 0));
}

TEST(EvalTask, MetricsAreMeansWithTheErrorOfASample) {
  EvalTask task;
  task.kind = SampleKind::choices;
  std::vector<SampleScore> scores(4);
  scores[0].is_right = true;
  const std::vector<EvalMetric> metrics = metrics_of(task, scores);
  EXPECT_DOUBLE_EQ(metrics[0].value, 0.25);
  EXPECT_DOUBLE_EQ(metrics[0].error, 0.25);
}

}  // namespace
}  // namespace ruv
