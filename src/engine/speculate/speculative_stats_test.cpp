// The measured speed-up.
#include "engine/speculate/speculative_stats.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(SpeculativeStatsTest, ComparesWithPlainStepsOfAsManySequences) {
  SpeculationMeter meter;
  EXPECT_EQ(meter.stats().speed_up, 0);
  meter.record({.n_sequences = 1, .n_tokens = 1, .ms = 10});
  EXPECT_EQ(meter.stats().speed_up, 0) << "no drafts yet";
  // Three tokens in 15 ms, plain 30 ms; with the plain step before: 40 ms against 25 ms.
  meter.record({.n_sequences = 1, .n_drafted = 4, .n_accepted = 2, .n_tokens = 3, .ms = 15});
  EXPECT_DOUBLE_EQ(meter.stats().speed_up, 40.0 / 25);
  // Steps of four sequences are not compared with plain ones of one.
  meter.record({.n_sequences = 4, .n_drafted = 4, .n_accepted = 0, .n_tokens = 4, .ms = 1000});
  EXPECT_DOUBLE_EQ(meter.stats().speed_up, 40.0 / 25);
  meter.record({.n_sequences = 4, .n_tokens = 4, .ms = 20});
  meter.record({.n_sequences = 4, .n_drafted = 4, .n_accepted = 0, .n_tokens = 4, .ms = 40});
  EXPECT_DOUBLE_EQ(meter.stats().speed_up, 80.0 / 85);
  EXPECT_EQ(meter.stats().n_drafted, 12);
  EXPECT_EQ(meter.stats().n_accepted, 2);
  EXPECT_EQ(meter.stats().n_passes, 14);
  EXPECT_EQ(meter.stats().n_tokens, 16);
  EXPECT_DOUBLE_EQ(meter.stats().acceptance(), 2.0 / 12);
  EXPECT_DOUBLE_EQ(meter.stats().tokens_per_pass(), 16.0 / 14);
  meter.record({.n_sequences = 100000, .n_drafted = 1, .n_tokens = 1, .ms = 1});
  EXPECT_DOUBLE_EQ(meter.stats().speed_up, 80.0 / 85);
}

TEST(SpeculativeStatsTest, AnEmptyRecordHasNoRates) {
  const SpeculativeStats stats;
  EXPECT_EQ(stats.acceptance(), 0);
  EXPECT_EQ(stats.tokens_per_pass(), 0);
}

}  // namespace
}  // namespace ruv
