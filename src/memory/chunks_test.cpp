// Chunks cover a text, are no longer than asked, and begin where a reader would begin.
#include "memory/chunks.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/utf8.h"

namespace ruv::chunks_test {
namespace {

std::vector<std::string> texts_of(std::string_view text, const ChunkOptions& options) {
  std::vector<std::string> texts;
  const std::vector<TextChunk> chunks = *chunks_of(text, options);
  for (const TextChunk& chunk : chunks) {
    texts.emplace_back(text.substr(static_cast<size_t>(chunk.first),
                                   static_cast<size_t>(chunk.end - chunk.first)));
  }
  return texts;
}

TEST(Chunks, ParagraphsAreJoinedWhileTheyFit) {
  const std::string text =
      "One two.\n\nThree four.\n\n\nA third paragraph, longer than the rest.\n";
  EXPECT_EQ(texts_of(text, {.most_bytes = 40, .overlap_bytes = 0}),
            (std::vector<std::string>{"One two.\n\nThree four.",
                                      "A third paragraph, longer than the rest."}));
  EXPECT_EQ(texts_of(text, {.most_bytes = 1000, .overlap_bytes = 0}).size(), 1U);
  EXPECT_TRUE(texts_of(" \n\n\t ", {}).empty());
}

TEST(Chunks, LongParagraphsAreCutAtSentencesAndOverlap) {
  const std::string text = "It is late. The sea is wide and the ship is slow. We sleep now.";
  EXPECT_EQ(texts_of(text, {.most_bytes = 52, .overlap_bytes = 0}),
            (std::vector<std::string>{"It is late. The sea is wide and the ship is slow.",
                                      "We sleep now."}));
  EXPECT_EQ(texts_of(text, {.most_bytes = 52, .overlap_bytes = 10}),
            (std::vector<std::string>{"It is late. The sea is wide and the ship is slow.",
                                      "is slow. We sleep now."}));
}

TEST(Chunks, HeadingsOfMarkdownBeginChunksAndAreShown) {
  const std::string text =
      "Before.\n# Sea #\nWide.\n## Ships\nSlow.\n```\n# no heading\n\nx\n```\n# Land\nDry.\n#no\n";
  const auto chunks = *chunks_of(text, {.form = TextForm::markdown});
  ASSERT_EQ(chunks.size(), 4U);
  EXPECT_EQ(chunks[0].headings, "");
  EXPECT_EQ(chunks[1].headings, "Sea");
  EXPECT_EQ(chunks[2].headings, "Sea > Ships");
  EXPECT_EQ(chunks[3].headings, "Land");
  EXPECT_EQ(texts_of(text, {.form = TextForm::markdown})[2],
            "## Ships\nSlow.\n```\n# no heading\n\nx\n```");
  EXPECT_EQ(chunks_of(text)->front().headings, "");
}

TEST(Chunks, MarksBeginChunksOnPagesAndUnderHeadings) {
  const std::string text = "Before.\n#\nOne.\n\nTwo.\n\nThree.\n";
  const TextMark marks[] = {
      {.at = 0, .page = 3}, {.at = 8, .level = 9}, {.at = 16, .page = 4}, {.at = 22, .page = 5}};
  const auto chunks = *chunks_of(text, {}, marks);
  ASSERT_EQ(chunks.size(), 4U);
  EXPECT_EQ(chunks[0].page, 3);
  EXPECT_EQ(chunks[0].headings, "");
  EXPECT_EQ(chunks[1].headings, "#");
  EXPECT_EQ(chunks[1].page, 3);
  EXPECT_EQ(text.substr(static_cast<size_t>(chunks[1].first)).substr(0, 6), "#\nOne.");
  EXPECT_EQ(chunks[2].page, 4);
  EXPECT_EQ(chunks[3].page, 5);
  EXPECT_EQ(chunks[3].headings, "#");
  const TextMark wrong[] = {{.at = 2}, {.at = 1}};
  EXPECT_FALSE(chunks_of(text, {}, wrong));
}

TEST(Chunks, AnyTextIsCoveredByChunksOfWholeCharacters) {
  Rng rng(4);
  const std::string_view parts[] = {"a",    "bc ", "\n", "\n\n", "é",
                                    "漢字", ". ",  "# ", "🙂", "```\n"};
  for (int turn = 0; turn < 300; ++turn) {
    std::string text;
    for (uint64_t i = rng.below(400); i > 0; --i) text += parts[rng.below(std::size(parts))];
    const ChunkOptions options{.form = turn % 2 == 0 ? TextForm::plain : TextForm::markdown,
                               .most_bytes = static_cast<int64_t>(16 + rng.below(100)),
                               .overlap_bytes = static_cast<int64_t>(rng.below(8))};
    int64_t covered = 0;
    const std::vector<TextChunk> chunks = *chunks_of(text, options);
    for (const TextChunk& chunk : chunks) {
      EXPECT_LE(chunk.end - chunk.first, options.most_bytes);
      ASSERT_LT(chunk.first, chunk.end);
      for (int64_t at = covered; at < chunk.first; ++at) {
        EXPECT_NE(std::string_view(" \n\t").find(text[static_cast<size_t>(at)]), std::string::npos);
      }
      EXPECT_TRUE(is_valid_utf8(std::string_view(text).substr(
          static_cast<size_t>(chunk.first), static_cast<size_t>(chunk.end - chunk.first))));
      ASSERT_GT(chunk.end, covered);
      covered = chunk.end;
    }
    EXPECT_EQ(text.find_first_not_of(" \n\t", static_cast<size_t>(covered)), std::string::npos);
  }
}

TEST(Chunks, SentencesWithoutBlanksAreKeptWhole) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "吾輩は猫である。名前はまだ無い！";
  const auto chunks = chunks_of(text, {.most_bytes = 200, .overlap_bytes = 60});
  ASSERT_TRUE(chunks);
  ASSERT_GT(chunks->size(), 10U);
  for (const TextChunk& chunk : *chunks) {
    const std::string_view one = std::string_view(text).substr(
        static_cast<size_t>(chunk.first), static_cast<size_t>(chunk.end - chunk.first));
    EXPECT_TRUE(one.starts_with("吾輩") || one.starts_with("名前")) << one;
    EXPECT_TRUE(one.ends_with("。") || one.ends_with("！")) << one;
  }
  EXPECT_LT((*chunks)[1].first, (*chunks)[0].end) << "they overlap";
}

// Tokens are counted with the headings; here one for each byte of a text.
TEST(Chunks, BecomeShorterUntilTheyFit) {
  const auto bytes = [](const std::string& text) -> Result<int64_t> { return std::ssize(text); };
  ReadText read;
  for (int i = 0; i < 200; ++i) read.text += "Every one of these is a sentence. ";
  const ChunkOptions options{.most_bytes = 1200, .overlap_bytes = 120};
  const auto all = chunks_that_fit(read, options, 1200, bytes);
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->size(), chunks_of(read.text, options)->size());
  const auto fitted = chunks_that_fit(read, options, 300, bytes);
  ASSERT_TRUE(fitted) << fitted.error().message();
  for (const TextChunk& chunk : *fitted) EXPECT_LE(chunk.end - chunk.first, 300);
  EXPECT_GT(fitted->size(), all->size() * 3);
  EXPECT_LT(fitted->size(), all->size() * 6);

  read.text = "# " + std::string(500, 'h') + "\n\ntext";
  const auto refused = chunks_that_fit(read, {.form = TextForm::markdown}, 100, bytes);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("at most 100"), std::string::npos);
  const auto failing = [](const std::string&) -> Result<int64_t> {
    return fail(Code::deadline, "no");
  };
  EXPECT_EQ(chunks_that_fit(read, {}, 100, failing).error().code(), Code::deadline);
}

TEST(Chunks, BadOptionsAndTextsAreRefused) {
  EXPECT_FALSE(chunks_of("a", {.most_bytes = 15}));
  EXPECT_FALSE(chunks_of("a", {.most_bytes = 100, .overlap_bytes = 50}));
  EXPECT_FALSE(chunks_of("a", {.overlap_bytes = -1}));
  EXPECT_NE(chunks_of("ab\xFF").error().message().find("byte 2"), std::string::npos);
}

}  // namespace
}  // namespace ruv::chunks_test
