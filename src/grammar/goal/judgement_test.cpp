#include "grammar/goal/judgement.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

Formula numbered(uint32_t number) { return static_cast<Formula>(number + 2); }

// A chain of judgements as deep as it is long; the last one is `end`.
bool chain(Judgements& judgements, uint32_t at, uint32_t length, bool end) {
  return judgements(numbered(at),
                    [&] { return at + 1 < length ? chain(judgements, at + 1, length, end) : end; });
}

TEST(Judgements, AnswersOfACircleAreTheLeastFixedPoint) {
  JudgementBudget budget(100);
  Judgements judgements(budget);
  const auto circle = [&](bool has_way_out) {
    return judgements(numbered(0), [&] {
      return judgements(
          numbered(1), [&] { return judgements(numbered(0), [] { return true; }) || has_way_out; });
    });
  };
  EXPECT_FALSE(circle(false));
  EXPECT_FALSE(circle(true)) << "a final answer was not kept";
  EXPECT_FALSE(budget.gave_up());
}

TEST(Judgements, WhatRanOutOfStepsIsNotKept) {
  JudgementBudget budget(10);
  Judgements judgements(budget);
  EXPECT_TRUE(chain(judgements, 0, 20, false));
  EXPECT_TRUE(budget.take_gave_up());
  EXPECT_FALSE(budget.take_gave_up());
  budget.renew();
  EXPECT_FALSE(chain(judgements, 10, 20, false)) << "an answer that was a guess was kept";
  EXPECT_FALSE(budget.gave_up());
  budget.renew();
  EXPECT_FALSE(chain(judgements, 0, 20, false)) << "what was found before was not used";
  EXPECT_FALSE(budget.gave_up());
}

TEST(Judgements, NestingIsBounded) {
  JudgementBudget budget(1'000'000);
  Judgements judgements(budget);
  EXPECT_TRUE(chain(judgements, 0, JudgementBudget::kMaxDepth + 1, false));
  EXPECT_TRUE(budget.gave_up());
}

TEST(Judgements, WhatIsKeptWithoutItsEndGivesUpAgain) {
  JudgementBudget budget(10);
  const Kept<int> part(budget, [&] {
    budget.give_up();
    return 1;
  });
  const Kept<int> whole(budget, [] { return 2; });
  EXPECT_TRUE(budget.take_gave_up());
  EXPECT_EQ(whole.get(budget), 2);
  EXPECT_FALSE(budget.take_gave_up());
  EXPECT_EQ(part.get(budget), 1);
  EXPECT_TRUE(budget.take_gave_up());
}

TEST(Judgements, WorkBesideThemIsCounted) {
  JudgementBudget budget(10);
  EXPECT_TRUE(budget.spend(32));
  EXPECT_TRUE(budget.spend(32));
  EXPECT_FALSE(budget.spend(1));
  EXPECT_TRUE(budget.gave_up());
  budget.renew_if_idle();
  EXPECT_TRUE(budget.spend(1));
}

}  // namespace
}  // namespace ruv
