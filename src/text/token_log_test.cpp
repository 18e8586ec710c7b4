#include "text/token_log.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace ruv {
namespace {

std::vector<TokenSpan> all(const SpanLog& log) {
  std::vector<TokenSpan> out;
  for (SpanLog::Reader spans(log); !spans.done();) out.push_back(spans.next());
  return out;
}

TEST(NumberLog, GivesBackWhatWasPushed) {
  Rng rng(5);
  NumberLog log;
  std::vector<uint64_t> numbers = {0, 127, 128, 16383, 16384, UINT32_MAX, uint64_t{1} << 62};
  for (int i = 0; i < 50000; ++i) numbers.push_back(rng.below(uint64_t{1} << rng.below(40)));
  for (const uint64_t number : numbers) log.push(number);
  NumberLog::Reader reader(log);
  for (const uint64_t number : numbers) ASSERT_EQ(reader.next(), number);
  EXPECT_TRUE(reader.done());
}

TEST(NumberLog, CutForgetsTheRest) {
  NumberLog log;
  for (int i = 0; i < 30000; ++i) log.push(300);
  const NumberLog::Place place = log.end();
  const size_t held = log.held_bytes();
  for (int i = 0; i < 30000; ++i) log.push(7);
  log.cut(place);
  EXPECT_EQ(log.held_bytes(), held);
  log.push(9);
  EXPECT_EQ(NumberLog::Reader(log, place).next(), 9U);
}

TEST(SpanLog, TakesPlacesInAnyOrder) {
  const std::vector<TokenSpan> spans = {{0, 0}, {0, 3}, {3, 4}, {3, 4}, {9, 90000}, {2, 3}};
  SpanLog log;
  log.extend_last(7);  // there is none
  for (const TokenSpan& span : spans) log.push(span);
  EXPECT_EQ(all(log), spans);
  log.extend_last(8);
  EXPECT_EQ(all(log).back(), (TokenSpan{2, 8}));
}

TEST(SpanLog, RewritesItsEnd) {
  SpanLog log;
  log.push({0, 5});
  const SpanLog::Place place = log.end();
  log.push({5, 6});
  log.push({6, 1000});
  log.rewrite(place, [](TokenSpan span) { return TokenSpan{2 * span.begin, 2 * span.end}; });
  EXPECT_EQ(all(log), (std::vector<TokenSpan>{{0, 5}, {10, 12}, {12, 2000}}));
  log.push({2000, 2001});
  log.extend_last(2002);
  EXPECT_EQ(all(log).back(), (TokenSpan{2000, 2002}));
}

TEST(SpanLog, ShortNeighboursTakeAByte) {
  SpanLog log;
  for (uint32_t i = 0; i < 100000; ++i) log.push({i, i + 1});
  EXPECT_LE(log.held_bytes(), 120000U);
}

}  // namespace
}  // namespace ruv
