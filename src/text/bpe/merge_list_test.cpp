#include "text/bpe/merge_list.h"

#include <gtest/gtest.h>

#include "text/bpe/byte_alphabet.h"

namespace ruv {
namespace {

Vocabulary vocabulary_of(const std::vector<std::string>& texts) {
  Vocabulary vocabulary;
  for (const std::string& text : texts) vocabulary.add(text, true);
  vocabulary.finish();
  return vocabulary;
}

TEST(MergeList, ReadsRanksInOrder) {
  const Vocabulary vocabulary = vocabulary_of({" ", "a", " a", "aa", " aa"});
  const MergeList list{.vocabulary = vocabulary, .decode = &decode_byte_alphabet, .by_text = {}};
  const auto table = list.read(std::vector<std::string>{"\u0120 a", "a a", "\u0120a a"});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->find(0, 1).id, 2);
  EXPECT_EQ(table->find(1, 1).rank, 1U);
  EXPECT_EQ(table->find(2, 1).id, 4);
  EXPECT_EQ(table->find(1, 0).rank, kNoMerge);
}

TEST(MergeList, AsksForTextsOutsideTheVocabulary) {
  const Vocabulary vocabulary = vocabulary_of({"a", "b"});
  const auto by_text = [](std::string_view text) { return text == "ab" ? Token{7} : Token{-1}; };
  const MergeList list{.vocabulary = vocabulary, .decode = nullptr, .by_text = by_text};
  const auto table = list.read(std::vector<std::string>{"a b"});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->find(0, 1).id, 7);
  EXPECT_FALSE(list.read(std::vector<std::string>{"b a"}));
}

TEST(MergeList, NamesTheBrokenMerge) {
  const Vocabulary vocabulary = vocabulary_of({"a", "b", "ab"});
  const MergeList list{.vocabulary = vocabulary, .decode = nullptr, .by_text = {}};
  EXPECT_TRUE(list.read(std::vector<std::string>{"a b"}));
  for (const char* merge : {"b a", "a", "", " ", "a ", "a c", "ab b"}) {
    const auto table = list.read(std::vector<std::string>{"a b", merge});
    ASSERT_FALSE(table) << merge;
    EXPECT_EQ(table.error().code(), Code::corrupt);
    EXPECT_NE(table.error().message().find("merges[1]"), std::string::npos);
  }
}

}  // namespace
}  // namespace ruv
