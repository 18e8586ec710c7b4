#include "model/recent_prompts.h"

#include <gtest/gtest.h>

#include <thread>

#include "text/test_vocabularies.h"

namespace ruv::recent_prompts_test {
namespace {

// A chat of `n` turns, as a template writes it.
std::vector<std::string> chat_of(int n, const std::string& name) {
  std::vector<std::string> texts;
  for (int turn = 0; turn < n; ++turn) {
    texts.push_back("<bos>");
    texts.push_back(name + " says he is in turn " + std::to_string(turn) + " <end>");
    texts.push_back("<end>");
  }
  return texts;
}

// Texts at odd places are what users say.
std::vector<TextPart> parts_of(const std::vector<std::string>& texts) {
  std::vector<TextPart> parts;
  for (size_t i = 0; i < texts.size(); ++i) {
    parts.push_back({texts[i], i % 3 == 1 ? SpecialParsing::off : SpecialParsing::on});
  }
  return parts;
}

class RecentPromptsTest : public testing::Test {
 protected:
  size_t expect_full(const std::vector<std::string>& texts) {
    const std::vector<TextPart> parts = parts_of(texts);
    std::vector<Token> full;
    tokenizer_->encode_parts(parts, false, full);
    EXPECT_EQ(recent_.encode(parts), full);
    return full.size();
  }

  std::shared_ptr<const Tokenizer> tokenizer_ =
      Tokenizer::create(byte_test_spec({"h e", "Ġ he", "i s", "Ġ is"})).value();
  RecentPrompts recent_{tokenizer_};
};

TEST_F(RecentPromptsTest, AChatThatGrowsPaysForItsNewTextOnly) {
  size_t before = 0;
  size_t n_kept = 0;
  for (int turn = 1; turn <= 10; ++turn) {
    const size_t n = expect_full(chat_of(turn, "Ann"));
    n_kept += before;
    EXPECT_EQ(recent_.n_kept(), n_kept);
    before = n;
  }
  EXPECT_EQ(recent_.n_prompts(), 1U);
}

TEST_F(RecentPromptsTest, ChatsThatTakeTurnsAreKeptApart) {
  size_t wanted = 0;
  for (int turn = 1; turn <= 6; ++turn) {
    for (const char* name : {"Ann", "Bob", "Cid"}) {
      if (turn > 1) wanted += expect_full(chat_of(turn - 1, name));
      expect_full(chat_of(turn, name));
    }
  }
  EXPECT_EQ(recent_.n_prompts(), 3U);
  EXPECT_GE(recent_.n_kept(), wanted);
}

TEST_F(RecentPromptsTest, OfTwoBeginningsTheLongerOneGoesOn) {
  const size_t n_long = expect_full(chat_of(4, "Ann"));
  expect_full(chat_of(1, "Ann"));  // too little of the long one to be its place
  EXPECT_EQ(recent_.n_prompts(), 2U);
  EXPECT_EQ(recent_.n_kept(), 0U);
  expect_full(chat_of(4, "Ann"));
  EXPECT_EQ(recent_.n_kept(), n_long);
  expect_full(chat_of(5, "Ann"));
  EXPECT_EQ(recent_.n_kept(), 2 * n_long);
}

// What stands behind the end of a text in memory is no part of it, though it is the same.
TEST_F(RecentPromptsTest, TextsEndWhereTheyEnd) {
  expect_full({std::string("ab\0de", 5)});
  expect_full({"ab"});  // less than half of the first
  EXPECT_EQ(recent_.n_prompts(), 2U);
  expect_full({"abx"});
  EXPECT_EQ(recent_.n_prompts(), 2U);
}

TEST_F(RecentPromptsTest, IsBounded) {
  for (int i = 0; i < 100; ++i) expect_full(chat_of(2, std::string(1, static_cast<char>(i + 33))));
  EXPECT_LE(recent_.n_prompts(), RecentPrompts::kMaxPrompts);
  const std::string large(RecentPrompts::kMaxBytes / 3, 'x');
  for (const char* name : {"a", "b", "c", "d"}) expect_full({"<bos>", name + large, "<end>"});
  EXPECT_LE(recent_.n_prompts(), 3U);
  const size_t n_kept = recent_.n_kept();
  for (int i = 0; i < 2; ++i) expect_full({"<bos>", "e" + large + large, "<end>"});
  EXPECT_EQ(recent_.n_kept(), n_kept) << "what is as large is not remembered";
  EXPECT_LE(recent_.n_prompts(), 3U);
  expect_full({});
  expect_full({""});
}

TEST_F(RecentPromptsTest, ManyThreadsGetTheIdsOfAFullEncode) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int turn = 1; turn < 40; ++turn) expect_full(chat_of(turn % 7 + thread % 2, "Ann"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(recent_.n_prompts(), RecentPrompts::kMaxPrompts);
}

}  // namespace
}  // namespace ruv::recent_prompts_test
