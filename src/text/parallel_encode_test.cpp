// Threads or none, the ids and places are the same.
#include "text/parallel_encode.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/rng.h"
#include "base/test_share.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

struct PlacedTokens {
  std::vector<Token> ids;
  std::vector<TokenSpan> spans;
  bool operator==(const PlacedTokens&) const = default;
};

PlacedTokens encoded(const Tokenizer& tokenizer, std::string_view text, int n_threads) {
  PlacedTokens out;
  TokenSink sink(&out.ids, &out.spans);
  sink.limit_threads(n_threads);
  const TextPart part{text, SpecialParsing::on};
  tokenizer.encode_parts({&part, 1}, false, sink);
  EXPECT_EQ(sink.n_tokens(), out.ids.size());
  EXPECT_EQ(sink.at(), text.size());
  return out;
}

PlacedTokens logged(const Tokenizer& tokenizer, std::string_view text, int n_threads) {
  TokenLog log;
  TokenSink sink(log, true);
  sink.limit_threads(n_threads);
  const TextPart part{text, SpecialParsing::on};
  tokenizer.encode_parts({&part, 1}, false, sink);
  PlacedTokens out;
  for (NumberLog::Reader ids(log.ids); !ids.done();) {
    out.ids.push_back(static_cast<Token>(ids.next()));
  }
  for (SpanLog::Reader spans(log.spans); !spans.done();) out.spans.push_back(spans.next());
  EXPECT_EQ(sink.n_tokens(), out.ids.size());
  EXPECT_EQ(sink.at(), text.size());
  return out;
}

std::string long_text(Rng& rng, size_t n) {
  const std::string_view words[] = {"hello",  " ", " a",  "<tool>", "\n",     "'s", "12345",
                                    "\u00E9", "-", "aaa", "\xFF",   "\u2581", "   "};
  std::string text;
  while (text.size() < n) text += words[rng.below(std::size(words))];
  return text;
}

TEST(ParallelEncode, GivesTheTokensOfOneThread) {
  Rng rng(41);
  std::vector<TokenizerSpec> specs;
  for (const char* scheme : {"gpt-2", "qwen2", "deepseek-v3", "starcoder"}) {
    specs.push_back(byte_test_spec({"h e", "l l", "he ll", "Ġ a", "a a"}, scheme));
  }
  specs.back().add_space_prefix = true;
  specs.push_back(piece_test_spec({"▁", "a", "h", "e", "el", "▁a", "▁▁"}));
  specs.push_back(specs.back());
  specs.back().byte_fallback = false;
  for (TokenizerSpec& spec : specs) {
    const auto tokenizer = Tokenizer::create(std::move(spec));
    ASSERT_TRUE(tokenizer);
    for (const size_t n : {size_t{1000}, kParallelBytes + 5, 3 * kParallelBytes}) {
      if (kTestShare > 1 && n > 2 * kParallelBytes) continue;
      const std::string text = long_text(rng, n);
      const PlacedTokens serial = encoded(**tokenizer, text, 1);
      EXPECT_EQ(logged(**tokenizer, text, 1), serial);
      for (const int n_threads : {3, 2, 8}) {
        if (kTestShare > 1 && n_threads != 3) continue;
        EXPECT_EQ(encoded(**tokenizer, text, n_threads), serial);
        EXPECT_EQ(logged(**tokenizer, text, n_threads), serial);
      }
    }
  }
}

TEST(ParallelEncode, WithoutAnAddedTokenInTheWay) {
  const auto tokenizer = Tokenizer::create(byte_test_spec({"a b", "Ġ ab"}));
  ASSERT_TRUE(tokenizer);
  std::string text;
  while (text.size() < 4 * kParallelBytes) text += " ab b";
  EXPECT_EQ(encoded(**tokenizer, text, 4), encoded(**tokenizer, text, 1));
}

// Its tokens go straight to the sink, between those of other threads.
TEST(ParallelEncode, AWordWithoutAnEnd) {
  const auto tokenizer = Tokenizer::create(byte_test_spec({"a b", "Ġ ab"}));
  ASSERT_TRUE(tokenizer);
  std::string text;
  PlacedTokens expected;
  const auto add = [&](std::string_view part, int n) {
    const PlacedTokens of_part = encoded(**tokenizer, part, 1);
    for (int i = 0; i < n; ++i, text += part) {
      const auto at = static_cast<uint32_t>(text.size());
      expected.ids.insert(expected.ids.end(), of_part.ids.begin(), of_part.ids.end());
      for (const auto& [begin, end] : of_part.spans) {
        expected.spans.push_back({at + begin, at + end});
      }
    }
  };
  for (int i = 0; i < 3; ++i) {
    add("ab ab b\n", 5000);
    add("ab", 90000);  // one word
    add("\n", 1);
  }
  for (const int n_threads : {1, 2, 8}) {
    EXPECT_EQ(encoded(**tokenizer, text, n_threads), expected) << n_threads;
    EXPECT_EQ(logged(**tokenizer, text, n_threads), expected) << n_threads;
  }
}

TEST(ParallelEncode, RunningOutOfMemoryIsReportedByTheCaller) {
  const WordWork work{
      .next_words =
          [](size_t& at, std::vector<Word>& words) {
            words = {{static_cast<uint32_t>(at), static_cast<uint32_t>(at + 40000)}};
            at += 40000;
            return at < 4000000;
          },
      .encode =
          [](std::span<const Word> words, TokenSink&) {
            if (words[0].begin > 100000) throw std::bad_alloc();
          }};
  std::vector<Token> ids;
  TokenSink sink(&ids);
  sink.limit_threads(3);
  EXPECT_THROW(parallel_encode(work, 3, sink), std::bad_alloc);
}

}  // namespace
}  // namespace ruv
