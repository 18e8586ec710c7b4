#include "tools/mcp/sse_parser.h"

#include <gtest/gtest.h>

#include "tools/mcp/message_lines.h"

namespace ruv {
namespace {

// Events as "type=data|", fed in pieces of n bytes.
std::string events_of(std::string_view text, size_t n, SseParser parser = SseParser(1000)) {
  std::string seen;
  const auto note = [&](const SseEvent& event) {
    seen += event.type + "=" + event.data + "|";
    return Status();
  };
  for (size_t at = 0; at < text.size(); at += n)
    EXPECT_TRUE(parser.feed(text.substr(at, n), note).ok());
  return seen;
}

TEST(SseParser, ReadsEventsInPiecesOfAnySize) {
  const std::string_view text =
      "\xEF\xBB\xBF"
      "data: one\n\n"
      ": comment\r\nevent: ping\r\ndata:two\r\ndata\r\ndata:  three\r\n\r\n"
      "data: four\r\revent: none\n\nid: 5\nignored: x\ndata: {\"a\":1}\n\ndata: unfinished";
  for (size_t n = 1; n <= text.size(); ++n)
    EXPECT_EQ(events_of(text, n), "=one|ping=two\n\n three|=four|={\"a\":1}|") << n;
}

TEST(SseParser, KeepsIdAndRetry) {
  SseParser parser(100);
  const auto ignore = [](const SseEvent&) { return Status(); };
  ASSERT_TRUE(parser.feed("id: a\nretry: 250\ndata: x\n\nretry: soon\nretry: -1\n\n", ignore).ok());
  EXPECT_EQ(parser.last_id(), "a");
  EXPECT_EQ(parser.retry_ms(), 250);
}

TEST(SseParser, HasLimitsAndHandsOnErrors) {
  const auto ignore = [](const SseEvent&) { return Status(); };
  SseParser line(10);
  EXPECT_TRUE(line.feed("data: 1234", ignore).ok());
  EXPECT_EQ(line.feed("5", ignore).code(), Code::corrupt);
  SseParser event(20);
  EXPECT_TRUE(event.feed("data: 0123456789\n", ignore).ok());
  EXPECT_EQ(event.feed("data: 0123456789\n", ignore).code(), Code::corrupt);
  SseParser refusing(20);
  EXPECT_EQ(
      refusing.feed("data: x\n\n", [](const SseEvent&) { return Status(Code::cancelled, ""); })
          .code(),
      Code::cancelled);
}

TEST(MessageLines, SplitsAtLineEnds) {
  MessageLines lines(5);
  std::string seen;
  const auto note = [&](std::string_view line) { seen += std::string(line) + "|"; };
  ASSERT_TRUE(lines.feed("ab", note).ok());
  ASSERT_TRUE(lines.feed("c\n\n \r\nde\r\nf", note).ok());
  EXPECT_EQ(seen, "abc|de\r|");
  EXPECT_TRUE(lines.feed("ghij", note).ok());
  EXPECT_EQ(lines.feed("k", note).code(), Code::corrupt);
}

}  // namespace
}  // namespace ruv
