// Published files and what of answers counts, beside what lm-evaluation-harness makes of them.
#include "eval/published_task.h"

#include <gtest/gtest.h>

#include "eval/csv.h"

namespace ruv::published_task_test {
namespace {

TEST(Csv, FieldsInQuotesHaveAnythingInThem) {
  const auto rows = *read_csv("a,\"b, \"\"c\"\"\nd\",\r\n\n\"\",e\nf,g\n", "f");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].fields, (std::vector<std::string>{"a", "b, \"c\"\nd", ""}));
  EXPECT_EQ(rows[1].fields, (std::vector<std::string>{"", "e"}));
  EXPECT_EQ(rows[1].line, 4);
  EXPECT_EQ(rows[2].line, 5);
  EXPECT_EQ(read_csv("a\nb\nc", "f", 2)->size(), 2U);
  EXPECT_TRUE(read_csv("", "f")->empty());
}

TEST(Csv, FaultsAreNamedByLine) {
  EXPECT_EQ(read_csv("a\n\"b\nc", "f").error().message(), "f: line 2: a quote that does not end");
  EXPECT_EQ(read_csv("a\n\"b\"c", "f").error().message(), "f: line 2: text after a quote");
}

// What regular expressions of the harness's task file find in the same texts.
TEST(AnswerRule, NumbersAreFoundAsTheHarnessFindsThem) {
  constexpr AnswerRule kStrict = AnswerRule::after_hashes;
  constexpr AnswerRule kFlexible = AnswerRule::last_number;
  const std::string expected = "9 * 2 = $<<9*2=18>>18.\n#### 1,800";
  EXPECT_TRUE(is_expected(kStrict, "So it is\n#### 1800.", expected));
  EXPECT_TRUE(is_expected(kStrict, "#### x #### 1,800 #### 3", expected));
  EXPECT_FALSE(is_expected(kStrict, "It is 1800", expected));
  EXPECT_FALSE(is_expected(kStrict, "####1800", expected));
  EXPECT_TRUE(is_expected(kFlexible, "It is $1800.", expected));
  EXPECT_TRUE(is_expected(kFlexible, "4 and then 1,800, I think", expected));
  EXPECT_FALSE(is_expected(kFlexible, "-1800", expected));
  EXPECT_FALSE(is_expected(kFlexible, "1800 of 7", expected));
  EXPECT_TRUE(is_expected(kFlexible, "minus -7 it is", "#### -7"));
  EXPECT_FALSE(is_expected(kFlexible, "none - at all.", "#### 7"));
  EXPECT_TRUE(is_expected(kFlexible, "7 .", "#### 7"));
  EXPECT_TRUE(is_expected(AnswerRule::whole, " Yes\n", "Yes "));
  EXPECT_FALSE(is_expected(AnswerRule::whole, "yes", "Yes"));
}

TEST(PublishedTask, LambadaIsTheLastWord) {
  const EvalTask task = *read_published(PublishedForm::lambada,
                                        {"{\"text\":\"a b  c\"}\n\n{\"text\":\"d e\"}", "f"}, {});
  ASSERT_EQ(task.samples.size(), 2U);
  EXPECT_EQ(task.kind, SampleKind::continuation);
  EXPECT_EQ(task.samples[0].context, "a b ");
  EXPECT_EQ(task.samples[0].continuation, " c");
}

TEST(PublishedTask, MmluShowsExamplesAndAsksForTheLetter) {
  const std::string with_header =
      "question,choice0,choice1,choice2,choice3,answer\n q ,1,2,3,4,2\n";
  PublishedOptions options{
      .n_shots = 1, .shots = {"s,5,6,7,8,B\nt,5,6,7,8,C", "g"}, .subject = "sums"};
  const EvalTask task = *read_published(PublishedForm::mmlu, {with_header, "f"}, options);
  ASSERT_EQ(task.samples.size(), 1U);
  EXPECT_EQ(task.samples[0].context,
            "The following are multiple choice questions (with answers) about sums.\n\n"
            "s\nA. 5\nB. 6\nC. 7\nD. 8\nAnswer: B\n\n"
            "q\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer:");
  EXPECT_EQ(task.samples[0].choices, (std::vector<std::string>{"A", "B", "C", "D"}));
  EXPECT_EQ(task.samples[0].gold, 2U);
  options.n_shots = 3;
  EXPECT_EQ(read_published(PublishedForm::mmlu, {with_header, "f"}, options).error().message(),
            "g: 2 samples, of which 3 are to be shown");
}

TEST(PublishedTask, Gsm8kIsAskedForASolution) {
  const std::string line = R"({"question":"How?","answer":"So. #### 4"})";
  PublishedOptions options{.limit = 1, .n_shots = 1, .shots = {line, "g"}};
  const EvalTask task = *read_published(PublishedForm::gsm8k, {line + "\n" + line, "f"}, options);
  ASSERT_EQ(task.samples.size(), 1U);
  EXPECT_EQ(task.samples[0].context,
            "Question: How?\nAnswer: So. #### 4\n\nQuestion: How?\nAnswer:");
  EXPECT_EQ(task.samples[0].expected, "So. #### 4");
  EXPECT_EQ(task.rules.size(), 2U);
  std::vector<SampleScore> scores(2);
  scores[0].is_expected = {false, true};
  scores[1].is_expected = {false, false};
  const auto metrics = metrics_of(task, scores);
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics[0].name, "exact_match,strict-match");
  EXPECT_DOUBLE_EQ(metrics[0].value, 0);
  EXPECT_DOUBLE_EQ(metrics[1].value, 0.5);
}

TEST(PublishedTask, WhatIsNoSampleIsNamedByLine) {
  const auto refusal = [](PublishedForm form, std::string_view content) {
    return read_published(form, {content, "f"}, {}).error().message();
  };
  EXPECT_EQ(refusal(PublishedForm::lambada, "{\"text\":\"a\"}"),
            "f: line 1: \"text\" has one word");
  EXPECT_EQ(refusal(PublishedForm::gsm8k, "{\"question\":\"a\"}"),
            "f: line 1: \"answer\" must be a text");
  EXPECT_EQ(refusal(PublishedForm::mmlu, "a,b,c,d,e,A\na,b,c,d,e,F"),
            "f: line 2: the answer is not a letter from A to D");
  EXPECT_EQ(refusal(PublishedForm::mmlu, "a,b\n"),
            "f: line 1: 2 fields, not question, four choices and answer");
  EXPECT_EQ(refusal(PublishedForm::gsm8k, "\n"), "f: there is no sample");
}

}  // namespace
}  // namespace ruv::published_task_test
