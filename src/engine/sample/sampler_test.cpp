// Each sampling step against the distribution it must give.
#include "engine/sample/test_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace ruv::sampler_test {
namespace {

GenerateParams plain(double temperature) {
  GenerateParams p;
  p.temperature = temperature;
  p.top_k = 0;
  p.top_p = 1;
  p.min_p = 0;
  return p;
}

std::map<Token, int> draw_many(const GenerateParams& params, const std::vector<float>& logits,
                               int n) {
  SequentialSampler sampler(params, 42);
  std::map<Token, int> counts;
  for (int i = 0; i < n; ++i) {
    std::vector<float> copy = logits;
    ++counts[sampler.sample(copy, {}, 0)];
  }
  return counts;
}

TEST(Sampler, GreedyTakesTheLowestIdOfEquals) {
  std::vector<float> logits = {1, 3, 3, 2};
  SequentialSampler sampler(plain(0), 1);
  EXPECT_EQ(sampler.sample(logits, {}, 0), 1);
}

TEST(Sampler, TemperatureGivesTheSoftmax) {
  const std::vector<float> logits = {0, 1, 2, -1};
  for (double t : {0.5, 1.0, 2.0}) {
    const int n = 40000;
    const std::map<Token, int> counts = draw_many(plain(t), logits, n);
    double total = 0;
    for (float x : logits) total += std::exp(x / t);
    double chi_square = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      const double expected = n * std::exp(logits[i] / t) / total;
      const double seen =
          counts.count(static_cast<Token>(i)) ? counts.at(static_cast<Token>(i)) : 0;
      chi_square += (seen - expected) * (seen - expected) / expected;
    }
    EXPECT_LT(chi_square, 16.3) << "3 degrees of freedom, p = 0.001; temperature " << t;
  }
}

TEST(Sampler, TopKTopPAndMinPCutTheTail) {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F),
                                     std::log(0.05F)};
  GenerateParams k = plain(1);
  k.top_k = 2;
  EXPECT_EQ(draw_many(k, logits, 2000).size(), 2U);
  GenerateParams p = plain(1);
  p.top_p = 0.75;  // 0.5 + 0.3 reach it
  EXPECT_EQ(draw_many(p, logits, 2000).size(), 2U);
  GenerateParams m = plain(1);
  m.min_p = 0.2;  // 0.15 >= 0.2 · 0.5, 0.05 is not
  EXPECT_EQ(draw_many(m, logits, 2000).size(), 3U);
}

// What lies exactly on a bound: the tokens before it have reached top_p, and min_p is reached.
TEST(Sampler, ExactBoundsOfTopPAndMinP) {
  const std::vector<float> logits = {1, 1};
  GenerateParams p = plain(1);
  p.top_p = 0.5;
  EXPECT_EQ(draw_many(p, logits, 200).size(), 1U);
  GenerateParams m = plain(1);
  m.min_p = 1;
  EXPECT_EQ(draw_many(m, logits, 200).size(), 2U);
  // With top_k the other way of cutting is taken.
  p.top_k = m.top_k = 2;
  EXPECT_EQ(draw_many(p, logits, 200).size(), 1U);
  EXPECT_EQ(draw_many(m, logits, 200).size(), 2U);
}

TEST(Sampler, EveryBitOfASeedCounts) {
  const std::vector<float> logits = {0, 0.1F, 0.2F, 0.3F, 0.4F};
  const auto drawn = [&](uint64_t seed) {
    SequentialSampler sampler(plain(1), seed);
    std::vector<Token> tokens;
    for (int i = 0; i < 60; ++i) {
      std::vector<float> x = logits;
      tokens.push_back(sampler.sample(x, {}, 0));
    }
    return tokens;
  };
  for (int bit = 0; bit < 64; ++bit) EXPECT_NE(drawn(7), drawn(7 ^ (1ULL << bit))) << bit;
}

TEST(Sampler, SameSeedSameTokens) {
  const std::vector<float> logits = {0, 0.1F, 0.2F, 0.3F, 0.4F};
  SequentialSampler a(plain(1), 9);
  SequentialSampler b(plain(1), 9);
  SequentialSampler c(plain(1), 10);
  int differ = 0;
  for (int i = 0; i < 100; ++i) {
    std::vector<float> x = logits, y = logits, z = logits;
    const Token token = a.sample(x, {}, 0);
    EXPECT_EQ(token, b.sample(y, {}, 0));
    differ += token != c.sample(z, {}, 0);
  }
  EXPECT_GT(differ, 20);
}

TEST(Sampler, PenaltiesFollowTheirFormulas) {
  GenerateParams p = plain(0);
  p.presence_penalty = 0.5;
  p.frequency_penalty = 0.25;
  std::vector<float> logits = {2, 2, 2};
  const std::vector<Token> history = {2, 0, 0, 1};
  SequentialSampler(p, 1).sample(logits, history, 3);  // the answer is {0, 0, 1}
  EXPECT_FLOAT_EQ(logits[0], 2 - 0.5F - 0.5F);
  EXPECT_FLOAT_EQ(logits[1], 2 - 0.5F - 0.25F);
  EXPECT_FLOAT_EQ(logits[2], 2);

  GenerateParams r = plain(0);
  r.repetition_penalty = 2;
  r.repetition_window = 2;
  logits = {4, -4, 4};
  SequentialSampler(r, 1).sample(logits, history, 3);  // window {0, 1}
  EXPECT_FLOAT_EQ(logits[0], 2);
  EXPECT_FLOAT_EQ(logits[1], -8);
  EXPECT_FLOAT_EQ(logits[2], 4);

  // The token just before the window keeps its logit, and a window of none changes nothing.
  logits = {4, -4, 4};
  SequentialSampler(r, 1).sample(logits, std::vector<Token>{2, 0, 1}, 3);
  EXPECT_FLOAT_EQ(logits[2], 4);
  r.repetition_window = 0;
  logits = {4, -4, 4};
  SequentialSampler(r, 1).sample(logits, history, 3);
  EXPECT_EQ(logits, (std::vector<float>{4, -4, 4}));
}

TEST(Sampler, BiasForcesAndBans) {
  GenerateParams p = plain(0);
  p.logit_bias = {{2, 100.0F}};
  std::vector<float> logits = {5, 1, 0};
  EXPECT_EQ(SequentialSampler(p, 1).sample(logits, {}, 0), 2);
  p.logit_bias = {{0, -100.0F}};
  logits = {5, 1, 0};
  EXPECT_EQ(SequentialSampler(p, 1).sample(logits, {}, 0), 1);
}

TEST(LogProbabilities, SumToOneAndAreSorted) {
  const std::vector<float> logits = {1, 4, 2, 3};
  const Event::Logprobs result = log_probabilities(logits, 2, 4);
  double sum = 0;
  for (const TokenLogprob& t : result.top) sum += std::exp(t.logprob);
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(result.top[0].id, 1);
  EXPECT_EQ(result.top[1].id, 3);
  EXPECT_EQ(result.chosen.id, 2);
  EXPECT_FLOAT_EQ(result.chosen.logprob, result.top[2].logprob);
}

TEST(Sampler, TopKOfManyIsTheBeginningOfAllSorted) {
  Rng values(3);
  for (const size_t k : {1UL, 7UL, 40UL, 1000UL, 6000UL}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<float> logits(5000);
      // Few different values, so that many are equal to the k-th; rising ones never stay cut.
      for (size_t i = 0; i < logits.size(); ++i) {
        logits[i] = static_cast<float>(values.below(round % 2 == 0 ? 8 : 100000)) / 20000;
        if (round % 5 == 4) logits[i] += static_cast<float>(i) / 1000;
      }
      std::vector<Token> ids(logits.size());
      std::iota(ids.begin(), ids.end(), Token{0});
      std::stable_sort(ids.begin(), ids.end(), [&](Token a, Token b) {
        return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
      });
      ids.resize(std::min(k, ids.size()));
      GenerateParams params = plain(1);
      params.top_k = static_cast<int64_t>(k);
      SequentialSampler sampler(params, 9);
      Rng rng(9);
      for (int draw = 0; draw < 10; ++draw) {
        std::vector<double> weights;
        for (const Token id : ids) {
          weights.push_back(std::exp(double{logits[static_cast<size_t>(id)]} -
                                     double{logits[static_cast<size_t>(ids[0])]}));
        }
        double at = rng.uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
        size_t wanted = 0;
        while (wanted + 1 < ids.size() && (at -= weights[wanted]) >= 0) ++wanted;
        std::vector<float> copy = logits;
        ASSERT_EQ(sampler.sample(copy, {}, 0), ids[wanted]) << k << ", round " << round;
      }
    }
  }
}

// Logits as a model's: most tokens unlikely, some impossible.
std::vector<float> spread_logits(Rng& rng, size_t n, double width) {
  std::vector<float> logits(n);
  for (float& x : logits) {
    double sum = 0;
    for (int i = 0; i < 6; ++i) sum += rng.uniform();
    x = static_cast<float>((sum - 3) * width);
    if (rng.below(4) == 0) x = -std::numeric_limits<float>::infinity();
  }
  return logits;
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature) {
  const double max = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p(logits.size());
  double total = 0;
  for (size_t i = 0; i < p.size(); ++i) total += p[i] = std::exp((logits[i] - max) / temperature);
  for (double& x : p) x /= total;
  return p;
}

TEST(Sampler, AllTokensOfALargeVocabularyKeepTheirProbabilities) {
  Rng rng(8);
  const std::vector<float> logits = spread_logits(rng, 5000, 6);
  for (const double temperature : {0.3, 1.0, 3.0}) {
    const std::vector<double> p = softmax(logits, temperature);
    constexpr int kDraws = 20000;
    // Shares of ten parts of the vocabulary, and of the likeliest token.
    std::vector<double> wanted(11);
    std::vector<int> got(11);
    const auto best = std::max_element(p.begin(), p.end()) - p.begin();
    for (size_t i = 0; i < p.size(); ++i) wanted[i / 500] += p[i];
    wanted[10] = p[static_cast<size_t>(best)];
    for (const auto& [id, n] : draw_many(plain(temperature), logits, kDraws)) {
      ASSERT_GT(p[static_cast<size_t>(id)], 0) << id;
      got[static_cast<size_t>(id) / 500] += n;
      if (id == best) got[10] += n;
    }
    for (size_t i = 0; i < got.size(); ++i) {
      const double sigma = std::sqrt(kDraws * wanted[i] * (1 - wanted[i]));
      EXPECT_NEAR(got[i], kDraws * wanted[i], 4.5 * sigma + 1) << i << " at " << temperature;
    }
  }
}

TEST(Sampler, ImpossibleTokensAreNeverDrawn) {
  std::vector<float> logits(3000, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(draw_many(plain(1), logits, 10).size(), 1U);
  logits[2500] = -7;
  EXPECT_EQ(draw_many(plain(1), logits, 100), (std::map<Token, int>{{2500, 100}}));
  logits[2999] = -7;
  EXPECT_EQ(draw_many(plain(1), logits, 100).size(), 2U);
}

TEST(Sampler, CutsOfALargeVocabularyKeepTheLikeliest) {
  Rng rng(9);
  for (const double width : {2.0, 6.0, 20.0}) {
    const std::vector<float> logits = spread_logits(rng, 5000, width);
    std::vector<double> p = softmax(logits, 1);
    for (const auto& [top_p, min_p] : std::vector<std::pair<double, double>>{
             {0.5, 0}, {0.95, 0}, {0.999, 0}, {1, 0.05}, {0.9, 0.01}, {1, 1}}) {
      GenerateParams params = plain(1);
      params.top_p = top_p;
      params.min_p = min_p;
      std::vector<double> sorted = p;
      std::sort(sorted.rbegin(), sorted.rend());
      size_t n_kept = 0;
      double sum = 0;
      while (n_kept == 0 || (sum < top_p && sorted[n_kept] >= min_p * sorted[0] * (1 - 1e-9))) {
        sum += sorted[n_kept++];
      }
      const auto drawn = draw_many(params, logits, 500);
      EXPECT_LE(drawn.size(), n_kept + 1);
      for (const auto& [id, n] : drawn) {
        // One token at the edge may fall on either side by rounding.
        EXPECT_GE(p[static_cast<size_t>(id)], sorted[n_kept] * (1 - 1e-6)) << top_p << " " << min_p;
      }
      const double share = sorted[0] / sum;
      const auto best = static_cast<Token>(std::max_element(p.begin(), p.end()) - p.begin());
      const auto found = drawn.find(best);
      EXPECT_NEAR(found == drawn.end() ? 0 : found->second, 500 * share,
                  4.5 * std::sqrt(500 * share * (1 - share)) + 1);
    }
  }
}

TEST(Argmax, IsTheFirstOfTheLargestAtAnySizeAndPlace) {
  Rng rng(5);
  for (const size_t n : {1UL, 2UL, 15UL, 16UL, 17UL, 1023UL, 1024UL, 1025UL, 2048UL, 3001UL}) {
    for (int round = 0; round < 50; ++round) {
      std::vector<float> logits(n);
      // Few different values, so that the largest often comes several times.
      for (float& x : logits) x = static_cast<float>(rng.below(round % 2 == 0 ? 3 : 100000)) - 50;
      const auto wanted = std::max_element(logits.begin(), logits.end()) - logits.begin();
      EXPECT_EQ(argmax(logits), wanted) << n << " logits";
    }
  }
}

}  // namespace
}  // namespace ruv::sampler_test
