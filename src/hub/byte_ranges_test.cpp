#include "hub/byte_ranges.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "hub/content_range.h"

namespace ruv {
namespace {

TEST(ByteRanges, JoinWhereTheyTouch) {
  ByteRanges here;
  here.add({10, 20});
  here.add({30, 40});
  here.add({5, 5});
  EXPECT_EQ(here.prefix(), 0U);
  here.add({20, 30});
  EXPECT_EQ(here.ranges(), (std::vector<ByteRange>{{10, 40}}));
  here.add({0, 12});
  EXPECT_EQ(here.n_bytes(), 40U);
  EXPECT_EQ(here.prefix(), 40U);
  EXPECT_EQ(here.missing(50), (std::vector<ByteRange>{{40, 50}}));
  EXPECT_TRUE(here.missing(40).empty());
  EXPECT_TRUE(here.missing(0).empty());
}

// Against a byte for each place.
TEST(ByteRanges, AgreeWithASetOfPlaces) {
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    ByteRanges here;
    std::vector<bool> places(64);
    for (int i = 0; i < 12; ++i) {
      const uint64_t begin = rng.next() % 64;
      const uint64_t end = std::min<uint64_t>(64, begin + rng.next() % 12);
      here.add({begin, end});
      for (uint64_t at = begin; at < end; ++at) places[at] = true;
    }
    std::vector<bool> missing(64, true);
    for (const ByteRange& piece : pieces_of(here, 64, 5)) {
      EXPECT_LE(piece.size(), 5U);
      for (uint64_t at = piece.begin; at < piece.end; ++at) missing[at] = false;
    }
    EXPECT_EQ(missing, places);
    EXPECT_EQ(here.n_bytes(),
              static_cast<uint64_t>(std::count(places.begin(), places.end(), true)));
  }
}

TEST(ByteRanges, PiecesOfTheLargestFileEnd) {
  constexpr uint64_t kMax = ~uint64_t{0};
  ByteRanges here;
  here.add({0, kMax - 10});
  EXPECT_EQ(pieces_of(here, kMax, 7),
            (std::vector<ByteRange>{{kMax - 10, kMax - 3}, {kMax - 3, kMax}}));
}

TEST(ContentRange, IsWhatWasAskedFor) {
  const ByteRange range{10, 20};
  EXPECT_TRUE(check_content_range("bytes 10-19/30", range, 30).ok());
  EXPECT_TRUE(check_content_range("bytes 10-15/30", range, 30).ok());
  for (const char* header :
       {"", "bytes", "bytes 9-19/30", "bytes 11-19/30", "bytes 10-20/30", "bytes 10-9/30",
        "bytes 10-19/31", "bytes 10-19/*", "bytes 10-19", "bytes */30", "bytes 10-19/30 ",
        "bytes 10-99999999999999999999/30", "bytes -10-19/30", "items 10-19/30"}) {
    EXPECT_EQ(check_content_range(header, range, 30).code(), Code::corrupt) << header;
  }
}

}  // namespace
}  // namespace ruv
