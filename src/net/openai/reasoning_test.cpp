#include "net/openai/reasoning.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

// A model that thinks between marks, which are tokens of their own or not.
AnswerFormat thinking_format(bool has_region) {
  AnswerFormat format;
  format.dialect.reasoning = {.begin = "<think>\n", .end = "\n</think>\n\n"};
  if (has_region) format.region = ReasoningRegion{.begin = 7, .end = {8}};
  return format;
}

GenerateRequest with_form() {
  GenerateRequest request;
  request.form = AskedForm{.form = {}, .field = "response_format"};
  return request;
}

TEST(ReasoningRegion, AFormBeginsAfterReasoning) {
  const auto closed = reasoning_region(thinking_format(true), with_form(), "assistant\n");
  ASSERT_TRUE(closed && *closed);
  EXPECT_EQ((**closed).begin, 7);
  EXPECT_FALSE((**closed).is_open);
  EXPECT_EQ((**closed).max_tokens, -1);
  const auto open = reasoning_region(thinking_format(true), with_form(), "<think>\n");
  ASSERT_TRUE(open && *open);
  EXPECT_TRUE((**open).is_open);
  const auto over = reasoning_region(thinking_format(true), with_form(), "<think>\n\n</think>\n\n");
  ASSERT_TRUE(over && *over);
  EXPECT_FALSE((**over).is_open);
}

// A form has the reasoning in its own grammar then; a budget needs the token.
TEST(ReasoningRegion, NeedsATokenAtItsEnd) {
  const auto open = reasoning_region(thinking_format(false), with_form(), "<think>\n");
  ASSERT_TRUE(open);
  EXPECT_FALSE(*open);
  GenerateRequest budget;
  budget.thinking_budget = 3;
  const auto refused = reasoning_region(thinking_format(false), budget, "<think>\n");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "thinking_token_budget");
}

TEST(ReasoningRegion, NothingAskedIsNothingLimited) {
  const auto plain = reasoning_region(thinking_format(true), GenerateRequest(), "<think>\n");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(*plain);
  const auto silent = reasoning_region(AnswerFormat(), with_form(), "");
  ASSERT_TRUE(silent);
  EXPECT_FALSE(*silent);
  GenerateRequest calls = with_form();
  calls.may_call = calls.must_call = true;
  const auto called = reasoning_region(thinking_format(true), calls, "<think>\n");
  ASSERT_TRUE(called);
  EXPECT_FALSE(*called);
  GenerateRequest none = with_form();
  none.reasoning_effort = "none";
  EXPECT_FALSE(*reasoning_region(thinking_format(true), none, "assistant\n"));
}

// Whatever comes before the final channel is reasoning.
TEST(ReasoningRegion, ChannelsAreOpenFromTheStart) {
  AnswerFormat format;
  format.dialect.shape = ToolDialect::Shape::channels;
  format.region = ReasoningRegion{.end = {1, 2, 3}, .is_open = true};
  const auto found = reasoning_region(format, with_form(), "<|start|>assistant");
  ASSERT_TRUE(found && *found);
  EXPECT_TRUE((**found).is_open);
  GenerateRequest budget;
  budget.thinking_budget = 3;
  EXPECT_FALSE(reasoning_region(format, budget, ""));
}

}  // namespace
}  // namespace ruv
