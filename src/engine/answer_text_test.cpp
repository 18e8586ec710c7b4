#include "engine/answer_text.h"

#include <gtest/gtest.h>

#include "text/test_vocabularies.h"

namespace ruv {
namespace {

// A prompt that ended in "ab cd" is healed by tokens of other lengths.
TEST(AnswerText, CountsTheTokensThatThePromptHadWhole) {
  const auto tokenizer = test_tokenizer(byte_test_spec({"a b", "c d"}));
  const Token ab = 256, cd = 257, a = 'a', b = 'b';
  const std::vector<Token> taken_back = {ab, 'c'};
  AnswerText text(tokenizer.get(), {}, StopText({}));
  EXPECT_EQ(text.n_healed(taken_back), 0);
  text.heal(taken_back, 3);
  EXPECT_EQ(text.n_healed({}), 0);
  EXPECT_EQ(text.n_healed(std::vector<Token>{ab, cd, a}), 1);  // "d" is new
  EXPECT_EQ(text.n_healed(std::vector<Token>{a, b, 'c', a}), 3);
  text.push(ab);
  EXPECT_EQ(text.n_healed(std::vector<Token>{cd}), 0);
  EXPECT_EQ(text.n_healed(std::vector<Token>{'c', 'd'}), 1);
}

}  // namespace
}  // namespace ruv
