// Against references that are written from the papers' and the authors' descriptions.
#include "engine/sample/steering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "engine/sample/test_sampler.h"

namespace ruv {
namespace {

constexpr int kVectors = 10'000;
constexpr float kImpossible = -std::numeric_limits<float>::infinity();

struct Ranked {
  Token id;
  double p;
};

GenerateParams plain() {
  GenerateParams p;
  p.temperature = 1;
  p.top_k = 0;
  p.top_p = 1;
  p.min_p = 0;
  return p;
}

// Peaked or flat; some impossible, some equal.
std::vector<float> random_logits(Rng& rng) {
  std::vector<float> logits(2 + rng.below(250));
  const double width = 0.2 + 12 * rng.uniform() * rng.uniform();
  const bool is_coarse = rng.below(4) == 0;
  for (float& x : logits) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += rng.uniform() - 0.5;
    x = static_cast<float>(is_coarse ? std::round(sum * width) : sum * width);
    if (rng.below(10) == 0) x = kImpossible;
  }
  logits[rng.below(logits.size())] = 1;
  return logits;
}

std::vector<Ranked> ranked(const std::vector<float>& logits, double temperature) {
  std::vector<Ranked> all;
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == kImpossible) continue;
    all.push_back({static_cast<Token>(i), std::exp(logits[i] / temperature)});
    sum += all.back().p;
  }
  for (Ranked& token : all) token.p /= sum;
  std::ranges::stable_sort(all, std::greater(), &Ranked::p);
  return all;
}

// Basu et al., "Mirostat", algorithm 1: s by least squares over the first 100, k of the tokens that
// stay; the number before it is truncated.
double tokens_of_version_1(const std::vector<Ranked>& all, double n_vocab, double mu) {
  double numerator = 0;
  double denominator = 0;
  for (size_t i = 0; i + 1 < std::min<size_t>(100, all.size()); ++i) {
    const double t = std::log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    numerator += t * std::log(all[i].p / all[i + 1].p);
    denominator += t * t;
  }
  const double s = numerator / denominator;
  const double epsilon = s - 1;
  return std::pow(epsilon * std::exp2(mu) / (1 - std::pow(n_vocab, -epsilon)), 1 / s);
}

std::map<Token, double> kept_by(const SequentialSampler& sampler) {
  std::map<Token, double> kept;
  double sum = 0;
  for (const WeighedToken& token : sampler.scratch().kept) sum += token.weight;
  for (const WeighedToken& token : sampler.scratch().kept) kept[token.id] = token.weight / sum;
  return kept;
}

// One sampler draws from several vectors in a row, as an answer does, beside a reference whose
// state follows from what was drawn.
TEST(Steering, MirostatKeepsWhatThePaperSaysAndLearns) {
  for (const int64_t version : {1, 2}) {
    Rng rng(40 + static_cast<uint64_t>(version));
    int64_t n_cut = 0;
    int64_t n_at_the_edge = 0;
    for (int i = 0; i < kVectors;) {
      GenerateParams params = plain();
      params.mirostat = version;
      params.temperature = 0.4 + rng.uniform();
      params.mirostat_tau = 0.5 + 5 * rng.uniform();
      params.mirostat_eta = 0.05 + rng.uniform();
      params.top_k = 2;  // no cut counts
      params.top_n_sigma = 0.1;
      params.xtc_probability = 1;
      SequentialSampler sampler(params, rng.next());
      double mu = 2 * params.mirostat_tau;
      for (int step = 0; step < 8; ++step, ++i) {
        std::vector<float> logits = random_logits(rng);
        const std::vector<Ranked> all = ranked(logits, params.temperature);
        size_t n = all.size();
        if (version == 1 && n > 1) {
          const double k = tokens_of_version_1(all, static_cast<double>(logits.size()), mu);
          const bool decides = k > 1.5 && k < static_cast<double>(n);
          n_at_the_edge += decides && std::fabs(k - std::round(k)) < 1e-9;
          n = static_cast<size_t>(std::clamp(k, 1.0, static_cast<double>(n)));
        } else {
          while (n > 1 && -std::log2(all[n - 1].p) > mu) --n;
        }
        n_cut += n < all.size();
        double sum = 0;
        for (size_t rank = 0; rank < n; ++rank) sum += all[rank].p;
        const Token drawn = sampler.sample(logits, {}, 0);
        const std::map<Token, double> kept = kept_by(sampler);
        ASSERT_EQ(kept.size(), n) << version << ": " << i << ", mu " << mu;
        double of_drawn = 0;
        for (size_t rank = 0; rank < n; ++rank) {
          const auto found = kept.find(all[rank].id);
          ASSERT_NE(found, kept.end()) << version << ": " << i;
          ASSERT_NEAR(found->second, all[rank].p / sum, 1e-9) << version << ": " << i;
          if (all[rank].id == drawn) of_drawn = all[rank].p / sum;
        }
        ASSERT_GT(of_drawn, 0);
        mu -= params.mirostat_eta * (-std::log2(of_drawn) - params.mirostat_tau);
        ASSERT_NEAR(sampler.state().most_surprise, mu, 1e-6);
      }
    }
    EXPECT_GT(n_cut, kVectors / 4) << version;
    EXPECT_EQ(n_at_the_edge, 0) << "rounding decides there";
  }
}

// The loop aims at tau: over many draws from one distribution the mean surprise comes near it.
TEST(Steering, MirostatReachesItsSurprise) {
  Rng rng(6);
  std::vector<float> logits(3000);
  for (float& x : logits) x = static_cast<float>(8 * rng.uniform());
  for (const double tau : {2.0, 5.0}) {
    GenerateParams params = plain();
    params.mirostat = 2;
    params.mirostat_tau = tau;
    SequentialSampler sampler(params, 1);
    double sum = 0;
    constexpr int kDraws = 3000;
    for (int i = 0; i < kDraws; ++i) {
      std::vector<float> copy = logits;
      const Token id = sampler.sample(copy, {}, 0);
      sum -= std::log2(kept_by(sampler).at(id));
    }
    EXPECT_NEAR(sum / kDraws, tau, 0.2);
  }
}

// llama.cpp's description: logits fall from a peak at the adapted target, as the square of the
// distance in units of 0.3 near it and straight far from it; the mean is of the probabilities
// before that.
TEST(Steering, AdaptivePFollowsItsMean) {
  Rng rng(50);
  for (int i = 0; i < kVectors;) {
    GenerateParams params = plain();
    params.temperature = 0.4 + rng.uniform();
    params.adaptive_target = rng.uniform();
    params.adaptive_decay = 0.99 * rng.uniform();
    params.top_k = rng.below(2) == 0 ? 0 : 10;
    SequentialSampler sampler(params, rng.next());
    double sum = params.adaptive_target / (1 - params.adaptive_decay);
    double count = 1 / (1 - params.adaptive_decay);
    for (int step = 0; step < 8; ++step, ++i) {
      std::vector<float> logits = random_logits(rng);
      std::vector<Ranked> all = ranked(logits, params.temperature);
      if (params.top_k > 0 && all.size() > 10) all.resize(10);
      double total = 0;
      for (const Ranked& token : all) total += token.p;
      const double aim = std::min(1.0, std::max(0.0, 2 * params.adaptive_target - sum / count));
      std::map<Token, double> wanted;
      double weights = 0;
      for (const Ranked& token : all) {
        const double distance = std::fabs(token.p / total - aim) / 0.3;
        wanted[token.id] = std::exp(5 - 10 * distance * distance / (1 + distance));
        weights += wanted[token.id];
      }
      const Token drawn = sampler.sample(logits, {}, 0);
      const std::map<Token, double> kept = kept_by(sampler);
      ASSERT_EQ(kept.size(), wanted.size()) << i;
      for (const auto& [id, weight] : wanted) {
        ASSERT_TRUE(kept.contains(id)) << i;
        ASSERT_NEAR(kept.at(id), weight / weights, 1e-9) << i;
      }
      const auto chosen = std::ranges::find(all, drawn, &Ranked::id);
      ASSERT_NE(chosen, all.end());
      sum = chosen->p / total + params.adaptive_decay * sum;
      count = 1 + params.adaptive_decay * count;
      ASSERT_NEAR(sampler.state().weighted_sum, sum, 1e-6);
      ASSERT_NEAR(sampler.state().total_weight, count, 1e-6);
    }
  }
}

TEST(Steering, LeavesGreedyAnswersAndOthersAlone) {
  GenerateParams params = plain();
  EXPECT_FALSE(Sampler(params).is_steered());
  params.adaptive_target = 0;
  EXPECT_TRUE(Sampler(params).is_steered());
  params.temperature = 0;
  EXPECT_FALSE(Sampler(params).is_steered());
  params.adaptive_target = -1;
  params.mirostat = 1;
  params.dynatemp_range = 1;  // a cut, which Mirostat replaces
  EXPECT_FALSE(Sampler(params).is_steered());
  EXPECT_TRUE(Sampler(params).takes_likeliest());
  std::vector<float> logits = {1, 3, 2};
  EXPECT_EQ(SequentialSampler(params, 1).sample(logits, {}, 0), 1);
}

// Flat and single distributions have no fall to estimate.
TEST(Steering, MirostatOfFewAndEqualTokens) {
  for (const int64_t version : {1, 2}) {
    for (const double tau : {0.0, 100.0}) {
      GenerateParams params = plain();
      params.mirostat = version;
      params.mirostat_tau = tau;
      SequentialSampler sampler(params, 1);
      std::vector<float> one = {kImpossible, 2, kImpossible};
      EXPECT_EQ(sampler.sample(one, {}, 0), 1);
      std::vector<float> equal(300, 1);
      const Token drawn = sampler.sample(equal, {}, 0);
      EXPECT_EQ(kept_by(sampler).size(), tau == 0 ? 1U : 300U) << version;
      EXPECT_TRUE(tau > 0 || drawn == 0);
    }
  }
}

}  // namespace
}  // namespace ruv
