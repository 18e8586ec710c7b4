#include "chat/tools/answer_format.h"

#include <gtest/gtest.h>

#include "chat/chat_template.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

constexpr std::string_view kThinking =
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: <think>\n{% endif %}"
    "{# the answer begins after </think> #}";

AnswerFormat format_with(const std::vector<std::string>& added) {
  TokenizerSpec spec = byte_test_spec({});
  for (const std::string& text : added) add_test_added(spec, {.text = text});
  const auto tokenizer = test_tokenizer(spec);
  const auto chat_template = ChatTemplate::parse(kThinking);
  EXPECT_TRUE(chat_template);
  return answer_format(**chat_template, tokenizer.get());
}

TEST(AnswerFormat, ReasoningThatEndsWithATokenIsARegion) {
  const AnswerFormat format = format_with({"<think>", "</think>"});
  ASSERT_EQ(mark_core(format.dialect.reasoning.end), "</think>");
  ASSERT_TRUE(format.region);
  EXPECT_EQ(format.region->end.size(), 1U);
  EXPECT_NE(format.region->begin, -1);
  EXPECT_NE(format.region->begin, format.region->end[0]);
  EXPECT_FALSE(format.region->is_open);
}

TEST(AnswerFormat, MarksOfSeveralTokensAreNone) { EXPECT_FALSE(format_with({}).region); }

}  // namespace
}  // namespace ruv
