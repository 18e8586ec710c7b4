// Rates by class and position, and how beliefs give way to what is seen.
#include "engine/speculate/acceptance_rates.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(AcceptanceRatesTest, ClassesFollowLengthAndSource) {
  const auto of = [](int64_t n) { return DraftClass::of(DraftSource::sequence, n).index; };
  EXPECT_EQ(of(0), of(2));
  EXPECT_NE(of(2), of(3));
  EXPECT_EQ(of(3), of(4));
  EXPECT_EQ(of(5), of(8));
  EXPECT_EQ(of(9), of(16));
  EXPECT_EQ(of(17), of(100000));
  EXPECT_NE(of(8), of(9));
  EXPECT_NE(of(5), DraftClass::of(DraftSource::history, 5).index);
  EXPECT_EQ(DraftClass::of(DraftSource::model, 5).index,
            DraftClass::of(DraftSource::model, 0).index);
  for (const DraftSource source : {DraftSource::sequence, DraftSource::history, DraftSource::model})
    for (int64_t n = 0; n < 100; ++n)
      EXPECT_LT(DraftClass::of(source, n).index, DraftClass::kCount);
}

TEST(AcceptanceRatesTest, LearnsEachPosition) {
  AcceptanceRates rates(100);
  const DraftClass kind = DraftClass::of(DraftSource::sequence, 5);
  // Always exactly one right of four: the first is certain, the second never, the third unseen.
  for (int i = 0; i < 200; ++i) rates.record(kind, 4, 1);
  EXPECT_GT(rates.of(kind).at(0), 0.95);
  EXPECT_LT(rates.of(kind).at(1), 0.05);
  EXPECT_GT(rates.of(kind).at(2), 0.3) << "half as the one before it, half as believed at first";
  EXPECT_LT(rates.of(kind).at(2), AcceptanceRates(100).of(kind).at(2));
  EXPECT_DOUBLE_EQ(rates.of(DraftClass::of(DraftSource::history, 5)).at(0),
                   AcceptanceRates(100).of(kind).at(0));
  // The text changes: what was seen fades.
  for (int i = 0; i < 200; ++i) rates.record(kind, 4, 0);
  EXPECT_LT(rates.of(kind).at(0), 0.2);
}

TEST(AcceptanceRatesTest, LongerMatchesAndLaterPositionsAreBelievedMore) {
  const AcceptanceRates rates(100);
  for (int64_t n : {2, 4, 8, 16}) {
    const DraftClass kind = DraftClass::of(DraftSource::sequence, n);
    EXPECT_LT(rates.of(kind).at(0), rates.of(DraftClass::of(DraftSource::sequence, 2 * n)).at(0));
    EXPECT_LE(rates.of(kind).at(0), rates.of(kind).at(1));
    EXPECT_DOUBLE_EQ(rates.of(kind).at(100), rates.of(kind).at(1000000));
  }
}

TEST(AcceptanceRatesTest, StartsFromThePrior) {
  AcceptanceRates all(200);
  AcceptanceRates own(30, &all);
  const DraftClass kind = DraftClass::of(DraftSource::model, 0);
  for (int i = 0; i < 100; ++i) all.record(kind, 1, 0);
  EXPECT_LT(own.of(kind).at(0), 0.1);
  for (int i = 0; i < 8; ++i) own.record(kind, 1, 1);
  EXPECT_NEAR(own.of(kind).at(0), 0.5, 0.1) << "as much seen as the prior is worth";
  for (int i = 0; i < 200; ++i) own.record(kind, 1, 1);
  EXPECT_GT(own.of(kind).at(0), 0.75);
  EXPECT_LT(all.of(kind).at(0), 0.1);
}

}  // namespace
}  // namespace ruv
