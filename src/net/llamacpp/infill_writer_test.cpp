#include <gtest/gtest.h>

#include <array>

#include "base/json.h"
#include "net/llamacpp/infill.h"

namespace ruv {
namespace {

Json whole_of(const FinishedChoice& choice) {
  const std::array choices{choice};
  return *parse_json(infill_writer({})->whole(choices, {}), "answer");
}

TEST(InfillWriter, SaysWhatEndedTheAnswer) {
  EXPECT_EQ(whole_of({.choice = 0, .finish = "stop"}).at("stop_type"), "eos");
  EXPECT_EQ(whole_of({.choice = 0, .finish = "length"}).at("stop_type"), "limit");
  const Json word = whole_of({.choice = 0, .finish = "stop", .stop_text = "}", .text = "x;"});
  EXPECT_EQ(word.at("stop_type"), "word");
  EXPECT_EQ(word.at("stopping_word"), "}");
  EXPECT_EQ(word.at("content"), "x;");
}

TEST(InfillWriter, SaysWhatOfThePromptWasComputed) {
  AnswerUsage usage;
  usage.n_prompt_tokens = 10;
  usage.n_cached_tokens = 7;
  const FinishedChoice choice{.choice = 0, .finish = "stop"};
  const Json json = *parse_json(infill_writer({})->whole({&choice, 1}, usage), "answer");
  EXPECT_EQ(json.at("tokens_evaluated"), 10);
  EXPECT_EQ(json.at("tokens_cached"), 7);
  EXPECT_EQ(json.at("timings").at("prompt_n"), 3);
}

}  // namespace
}  // namespace ruv
