#include "net/openai/noted_texts.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "net/scripted_engine.h"

namespace ruv {
namespace {

std::vector<Token> ids_of(std::string_view text) {
  std::vector<Token> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

TEST(NotedTexts, AreWhatWasAskedAndWritten) {
  const ByteText text;
  RequestContents contents{.answers = {"", ""}};
  std::vector<Token> ids = ids_of("caf\u00e9\n");
  ids.push_back(256);
  note_prompt(text, ids, contents);
  note_prompt(text, ids_of("\xff"), contents);
  note_answer(1, "a", contents);
  note_answer(0, "b", contents);
  note_answer(1, "\u00e9", contents);
  EXPECT_EQ(contents.prompts, (std::vector<std::string>{"caf\u00e9\n<end>", "\uFFFD"}));
  EXPECT_EQ(contents.answers, (std::vector<std::string>{"b", "a\u00e9"}));
  EXPECT_FALSE(contents.is_cut);
}

// Prompts keep their ends, answers their beginnings, and all of it whole characters.
TEST(NotedTexts, HaveALimit) {
  const ByteText text;
  std::string longer;
  for (size_t i = 0; i < kMaxNotedBytes; ++i) longer += "\u00e9";
  RequestContents contents{.answers = {"", ""}};
  note_prompt(text, ids_of(longer + "!"), contents);
  EXPECT_TRUE(contents.is_cut);
  ASSERT_EQ(contents.prompts.size(), 1U);
  EXPECT_TRUE(contents.prompts[0].ends_with("\u00e9!"));
  EXPECT_TRUE(is_valid_utf8(contents.prompts[0]));
  EXPECT_GE(contents.prompts[0].size(), kMaxNotedBytes - 4);
  EXPECT_LE(contents.prompts[0].size(), kMaxNotedBytes);
  for (int i = 0; i < 100; ++i) note_prompt(text, ids_of("more"), contents);
  EXPECT_LT(contents.prompts.size(), 4U);

  RequestContents written{.answers = {"", ""}};
  note_answer(0, "!" + longer, written);
  note_answer(1, longer, written);
  note_answer(0, longer, written);
  EXPECT_TRUE(written.is_cut);
  EXPECT_TRUE(written.answers[0].starts_with("!\u00e9"));
  for (const std::string& answer : written.answers) EXPECT_TRUE(is_valid_utf8(answer));
  EXPECT_LE(written.answers[0].size() + written.answers[1].size(), kMaxNotedBytes);
}

}  // namespace
}  // namespace ruv
