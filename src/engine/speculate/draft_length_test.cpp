// The choice of length against a simulated machine: what it wins on text that repeats, and that it
// never loses more than its account allows, whatever the text does.
#include "engine/speculate/draft_length.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/rng.h"

namespace ruv {
namespace {

// True costs of a step; steps that are timed come out up to `noise` above or below.
struct SimulatedMachine {
  double slope = 0.15;  // of one plain step for each further row
  double noise = 0;
  double growth = 0;  // of a plain step for each token in the context
  double ms(int64_t n_rows, int64_t depth) const {
    return 20 * (1 + slope * static_cast<double>(n_rows - 1)) *
           (1 + growth * static_cast<double>(depth));
  }
};

// What is drafted at a token, and how much of it would be right.
struct SimulatedGuess {
  int64_t n_matched = 2;
  int64_t n_available = 0;
  int64_t n_right = 0;
};
using SimulatedText = std::function<SimulatedGuess(Rng&, int64_t token)>;

SimulatedGuess guess(Rng& rng, int64_t n_matched, int64_t n_available, double p) {
  int64_t n_right = 0;
  while (n_right < n_available && rng.uniform() < p) ++n_right;
  return {n_matched, n_available, n_right};
}

struct SimulatedRun {
  double ms = 0;        // true time
  double plain_ms = 0;  // of the same tokens without drafts
  int64_t n_drafting = 0;
  double worst_excess = 0;  // largest ms - plain_ms on the way, in plain tokens
  double speed_up() const { return plain_ms / ms; }
};

class LengthSimulation {
 public:
  static constexpr int64_t kPlainEvery = 32;  // as Speculator
  explicit LengthSimulation(const SimulatedMachine& machine) : machine_(machine) {}

  SimulatedRun run(int64_t n_tokens, const SimulatedText& text) {
    DraftLength length(costs_, rates_);
    SimulatedRun outcome;
    for (int64_t token = 0; token < n_tokens;) {
      const SimulatedGuess g = text(rng_, token);
      const DraftChance chance{.n_matched = g.n_matched,
                               .n_available = g.n_available,
                               .step = StepShape::of(token, 1, 1),
                               .n_tokens = token + 1};
      const int64_t n = costs_.is_due(1) ? 0 : length.choose(chance);
      EXPECT_LE(n, g.n_available);
      const int64_t n_accepted = std::min(n, g.n_right);
      const double ms = machine_.ms(1 + n, token);
      costs_.add(StepShape::of(token, 1 + n, 1 + n),
                 ms * (1 + machine_.noise * (2 * rng_.uniform() - 1)));
      length.record(chance, n, n_accepted);
      outcome.ms += ms;
      for (int64_t i = 0; i <= n_accepted; ++i) outcome.plain_ms += machine_.ms(1, token++);
      outcome.n_drafting += n > 0 ? 1 : 0;
      outcome.worst_excess =
          std::max(outcome.worst_excess, (outcome.ms - outcome.plain_ms) / machine_.ms(1, token));
    }
    return outcome;
  }

 private:
  SimulatedMachine machine_;
  Rng rng_{11};
  StepTimer costs_;
  AcceptanceRates rates_{200};
};

// The bound of draft_length.h. Costs that are measured with errors of 10 % blur it by two tokens.
double allowed(int64_t n_tokens, double noise) {
  return DraftLength::kFreeTokens + DraftLength::kLossShare * static_cast<double>(n_tokens) +
         20 * noise + 1e-6;
}

// Texts that a drafter finds matches in although they go on differently.
const std::vector<std::pair<std::string, SimulatedText>>& unpredictable() {
  static const std::vector<std::pair<std::string, SimulatedText>> texts = {
      {"prose", [](Rng& r, int64_t) { return guess(r, r.below(2) == 0 ? 2 : 3, 8, 0.08); }},
      {"prose with few matches",
       [](Rng& r, int64_t) { return guess(r, 2, r.below(3) == 0 ? 16 : 0, 0.1); }},
      {"long matches, always wrong",
       [](Rng&, int64_t) {
         return SimulatedGuess{40, 32, 0};
       }},
      {"every kind of match, always wrong",
       [](Rng& r, int64_t) {
         return SimulatedGuess{static_cast<int64_t>(2 + r.below(60)), 32, 0};
       }},
      {"right until it counts",  // good for 100 tokens, wrong for 400
       [](Rng& r, int64_t token) { return guess(r, 20, 16, token % 500 < 100 ? 0.95 : 0.02); }},
      {"on the edge", [](Rng& r, int64_t) { return guess(r, 4, 8, 0.3); }},
  };
  return texts;
}

TEST(DraftLengthTest, NeverLosesMoreThanTheAccountAllows) {
  for (const auto& [name, text] : unpredictable()) {
    for (const double slope : {0.02, 0.15, 0.45, 1.0}) {
      for (const double noise : {0.0, 0.1}) {
        for (const int64_t n : {50, 200, 2000}) {
          LengthSimulation simulation({.slope = slope, .noise = noise});
          const SimulatedRun outcome = simulation.run(n, text);
          EXPECT_LE(outcome.ms, outcome.plain_ms * (1 + allowed(n, noise) / static_cast<double>(n)))
              << name << ", slope " << slope << ", noise " << noise << ", " << n << " tokens";
          if (n >= 2000) {
            EXPECT_GE(outcome.speed_up(), 0.97) << name << ", slope " << slope;
          }
        }
      }
    }
  }
}

TEST(DraftLengthTest, TheAccountHoldsAtEveryMoment) {
  for (const auto& [name, text] : unpredictable()) {
    LengthSimulation simulation({.slope = 0.45});
    const SimulatedRun outcome = simulation.run(5000, text);
    EXPECT_LE(outcome.worst_excess, allowed(5000, 0)) << name;
  }
}

TEST(DraftLengthTest, CopyingIsDraftedAtOnceAndLong) {
  const SimulatedText copying = [](Rng& r, int64_t token) {
    return guess(r, std::min<int64_t>(token, 60), token < 2 ? 0 : 24, 0.98);
  };
  LengthSimulation cheap({.slope = 0.1, .noise = 0.1});
  EXPECT_GE(cheap.run(400, copying).speed_up(), 3.0);
  // A second answer begins with what the first taught.
  EXPECT_GE(cheap.run(100, copying).speed_up(), 3.0);
  LengthSimulation dear({.slope = 0.3, .noise = 0.1});
  EXPECT_GE(dear.run(400, copying).speed_up(), 1.8);
}

TEST(DraftLengthTest, StaysNearTheBestFixedLength) {
  for (const double p : {0.5, 0.7, 0.9, 0.97}) {
    for (const double slope : {0.05, 0.15, 0.3}) {
      const SimulatedMachine machine{.slope = slope, .noise = 0.05};
      double best = 1;
      double expected = 1;
      for (int64_t k = 1; k <= 24; ++k) {
        expected += std::pow(p, static_cast<double>(k));
        best = std::max(best, expected * machine.ms(1, 0) / machine.ms(1 + k, 0));
      }
      LengthSimulation simulation(machine);
      const SimulatedRun outcome =
          simulation.run(4000, [p](Rng& r, int64_t) { return guess(r, 6, 24, p); });
      EXPECT_GE(outcome.speed_up(), std::max(0.98, 1 + 0.85 * (best - 1))) << p << " " << slope;
    }
  }
}

TEST(DraftLengthTest, LosingDraftsStopAndAreTriedAgainEverLessOften) {
  LengthSimulation simulation({.slope = 0.5});
  const SimulatedText wrong = [](Rng&, int64_t) { return SimulatedGuess{3, 8, 0}; };
  const SimulatedRun outcome = simulation.run(5000, wrong);
  EXPECT_GE(outcome.n_drafting, 5);
  EXPECT_LE(outcome.n_drafting, 26);
}

TEST(DraftLengthTest, ComesBackWhenTheTextTurnsToCopying) {
  LengthSimulation simulation({.slope = 0.15});
  const SimulatedRun outcome = simulation.run(
      4000, [](Rng& r, int64_t token) { return guess(r, 30, 16, token < 1000 ? 0.0 : 0.97); });
  // The last 3,000 tokens alone could be four times as fast.
  EXPECT_GE(outcome.speed_up(), 1.8);
}

TEST(DraftLengthTest, DeepContextsDoNotBlurTheComparison) {
  LengthSimulation simulation({.slope = 0.45, .noise = 0.05, .growth = 1e-3});
  const SimulatedRun outcome =
      simulation.run(8000, [](Rng& r, int64_t) { return guess(r, 3, 8, 0.15); });
  EXPECT_GE(outcome.speed_up(), 0.97);
  LengthSimulation copying({.slope = 0.1, .noise = 0.05, .growth = 1e-3});
  EXPECT_GE(copying.run(8000, [](Rng& r, int64_t) { return guess(r, 30, 16, 0.97); }).speed_up(),
            3.0);
}

TEST(DraftLengthTest, PlainStepsStayInBetweenForTheComparison) {
  LengthSimulation simulation({.slope = 0.1});
  const SimulatedRun outcome =
      simulation.run(5000, [](Rng& r, int64_t) { return guess(r, 30, 8, 1.0); });
  const double n_steps = 5000 / 9.0;
  EXPECT_LT(static_cast<double>(outcome.n_drafting), n_steps);
  EXPECT_GT(static_cast<double>(outcome.n_drafting), 0.9 * n_steps);
}

constexpr int64_t kDepth = 100;

// Steps of 1 to n_rows rows on a machine.
StepTimer measured_costs(int64_t n_rows, const std::function<double(double)>& ms) {
  StepTimer costs;
  for (int i = 0; i < 8; ++i) {
    for (int64_t rows = 1; rows <= n_rows; ++rows) {
      costs.add(StepShape::of(kDepth, rows, rows), ms(static_cast<double>(rows)));
    }
  }
  return costs;
}

DraftChance chance_of(int64_t n_available, int64_t n_sequences = 1) {
  StepShape step;
  for (int64_t i = 0; i < n_sequences; ++i) step = step + StepShape::of(kDepth, 1, 1);
  return {.n_matched = 20,
          .n_available = n_available,
          .step = step,
          .n_tokens = kDepth + 1,
          .n_sequences = n_sequences};
}

TEST(DraftLengthTest, NeighboursInTheBatchMakeDraftsLessWorthwhile) {
  // Steps of 8 sequences cost far more per row than a lone one on this machine.
  const StepTimer costs = measured_costs(
      32, [](double rows) { return rows <= 6 ? 10 + 0.5 * rows : 13 + 4 * (rows - 6); });
  AcceptanceRates rates(200);
  const DraftLength length(costs, rates);
  const DraftChance alone = chance_of(8);
  EXPECT_GT(length.choose(alone), length.choose(chance_of(8, 8)));
  // A draft model that costs half a step for each token is not worth it either.
  DraftChance model = alone;
  model.source = DraftSource::model;
  model.draft_token_ms = 10;
  EXPECT_LT(length.choose(model), length.choose(alone));
}

TEST(DraftLengthTest, StopsBeforeARowThatBeginsATile) {
  const StepTimer costs =
      measured_costs(17, [](double rows) { return 10 + 4 * std::ceil(rows / 4); });
  AcceptanceRates rates(200);
  for (int i = 0; i < 100; ++i) rates.record(DraftClass::of(DraftSource::sequence, 20), 8, 6);
  const DraftLength length(costs, rates);
  for (const int64_t n_available : {3, 4}) {
    EXPECT_EQ(length.choose(chance_of(n_available)), 3);
  }
}

TEST(DraftLengthTest, GainsDoNotPayForLossesWithoutLimit) {
  const StepTimer costs = measured_costs(9, [](double rows) { return 10 + rows; });
  AcceptanceRates rates(200);
  DraftLength length(costs, rates);
  const DraftChance chance = chance_of(8);
  for (int i = 0; i < 500; ++i) length.record(chance, 8, 8);
  EXPECT_EQ(length.n_tokens(), 4500);
  EXPECT_EQ(length.loss(), -DraftLength::kMaxCredit);
  length.record(chance, 8, 0);
  EXPECT_NEAR(length.loss(), -DraftLength::kMaxCredit + 8.0 / 11, 1e-9);
}

TEST(DraftLengthTest, NothingIsDraftedBeforeAStepIsMeasured) {
  StepTimer costs;
  AcceptanceRates rates(200);
  const DraftLength length(costs, rates);
  EXPECT_EQ(length.choose(chance_of(8)), 0);
  costs.add(StepShape::of(kDepth, 1, 1), 10);
  const int64_t n = length.choose(chance_of(8));
  EXPECT_GT(n, 0);
  EXPECT_LE(n, 2) << "as many as may cost a plain step each";
  EXPECT_EQ(length.choose(chance_of(0)), 0);
}

TEST(DraftLength, ConsidersWhatMayPayAndWhatIsTriedSoon) {
  StepTimer cheap, dear;
  for (int i = 0; i < 20; ++i) {
    for (StepTimer* const costs : {&cheap, &dear}) costs->add(StepShape::of(100, 1, 1), 10);
    cheap.add(StepShape::of(100, 3, 3), 10.5);
    dear.add(StepShape::of(100, 3, 3), 30);
  }
  DraftChance chance{.source = DraftSource::head,
                     .n_available = 2,
                     .step = StepShape::of(100, 1, 1),
                     .n_tokens = 100,
                     .draft_token_ms = 0.1};
  AcceptanceRates good_rates(200), bad_rates(200);
  DraftLength good(cheap, good_rates), bad(dear, bad_rates);
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE(good.considers(chance, 0));
    good.record(chance, 2, 2);
  }
  chance.draft_token_ms = 5;
  EXPECT_TRUE(bad.considers(chance, 0)) << "nothing is known";
  for (int i = 0; i < 40; ++i) bad.record(chance, 2, 0);
  EXPECT_EQ(bad.choose(chance), 0);
  EXPECT_FALSE(bad.considers(chance, 0));
  EXPECT_FALSE(bad.considers(chance, 255));
  EXPECT_TRUE(bad.considers(chance, 256));
  for (int i = 0; i < 250; ++i) bad.record(chance, 0, 0);
  EXPECT_FALSE(bad.considers(chance, 5));
  EXPECT_TRUE(bad.considers(chance, 6));
}

}  // namespace
}  // namespace ruv
