#include "net/openai/reasoned_form.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "grammar/form/form.h"
#include "text/test_vocabularies.h"

namespace ruv::reasoned_form_test {
namespace {

AnswerFormat thinking_format() {
  AnswerFormat format;
  format.dialect.reasoning = {.begin = "<think>\n", .end = "\n</think>\n\n"};
  return format;
}

AskedForm schema_of(std::string text) {
  AskedForm asked;
  asked.field = "response_format";
  asked.form.text = std::move(text);
  return asked;
}

TEST(ReasonedForm, StaysAsItIsWherePromptsDoNotThink) {
  const AskedForm asked = schema_of("{}");
  for (const char* tail : {"", "<|assistant|>\n", "<|assistant|>\n<think>\n\n</think>\n\n"}) {
    const auto made = after_reasoning(thinking_format(), tail, asked);
    ASSERT_TRUE(made) << tail;
    EXPECT_FALSE(*made) << tail;
  }
  const auto plain = after_reasoning(AnswerFormat(), "<think>\n", asked);
  ASSERT_TRUE(plain);
  EXPECT_FALSE(*plain);
}

TEST(ReasonedForm, FollowsTheEndOfReasoning) {
  AnswerFormat format = thinking_format();
  const auto text = after_reasoning(format, "<|assistant|>\n<think>\n", schema_of("{\"a\": 1}"));
  ASSERT_TRUE(text);
  ASSERT_TRUE(*text);
  EXPECT_EQ((*text)->kind, AnswerForm::Kind::lark);
  EXPECT_EQ((*text)->text,
            "start: reasoning %json {\"a\": 1}\n"
            "reasoning: REASONING \"</think>\" /\\n*/\n"
            "REASONING: /.*/s & ~/.*<\\/think>.*/s\n");
  format.control = {{"</think>", 9}};
  const auto token = after_reasoning(format, "<think>\n", schema_of("true"));
  ASSERT_TRUE(token);
  ASSERT_TRUE(*token);
  EXPECT_EQ((*token)->text,
            "start: reasoning %json {\"allOf\": [true]}\n"
            "reasoning: REASONING <[9]> /\\n*/\nREASONING: /.*/s\n");
}

TEST(ReasonedForm, AnswersEndReasoningFirst) {
  const auto tokenizer = test_tokenizer(byte_test_spec({}));
  const auto space = std::make_shared<FormSpace>(std::make_shared<TokenPrefixes>(*tokenizer),
                                                 tokenizer->vocab_size());
  const auto made = after_reasoning(thinking_format(), "<think>\n",
                                    schema_of(R"({"type": "object", "required": ["a"]})"));
  ASSERT_TRUE(made);
  ASSERT_TRUE(*made);
  const auto form = Form::of_grammar(space, Form::Syntax::lark, (*made)->text, {}, {});
  ASSERT_TRUE(form);
  const auto accepts = [&](std::string_view text) {
    const Lock guard(space->mutex());
    FormReader reader = (*form)->reader();
    return reader.accept(text) && reader.may_end();
  };
  EXPECT_TRUE(accepts("Hm.\n</think>\n\n{\"a\": 1}"));
  EXPECT_TRUE(accepts("</think>{\"a\": 1}"));
  EXPECT_TRUE(accepts("{\"a\": 2} or <think> </think>{\"a\": 1}"));
  EXPECT_FALSE(accepts("{\"a\": 1}"));
  EXPECT_FALSE(accepts("Hm.</think>{\"b\": 1}"));
  EXPECT_FALSE(accepts("Hm.</think>It is {\"a\": 1}"));
}

TEST(ReasonedForm, ChoicesAreTextsAndPatternsAreRefused) {
  AskedForm asked = schema_of("[\"a\\\"b\", \"c\"]");
  asked.form.kind = AnswerForm::Kind::choice;
  const auto made = after_reasoning(thinking_format(), "<think>\n", asked);
  ASSERT_TRUE(made);
  ASSERT_TRUE(*made);
  EXPECT_TRUE((*made)->text.starts_with("start: reasoning (\"a\\\"b\" | \"c\")\n"))
      << (*made)->text;
  asked.form.kind = AnswerForm::Kind::regex;
  const auto refused = after_reasoning(thinking_format(), "<think>\n", asked);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "response_format");
  EXPECT_EQ(refused.error().code, "unsupported_field");
}

}  // namespace
}  // namespace ruv::reasoned_form_test
