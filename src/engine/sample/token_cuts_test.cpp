// Each cut against a reference that is written from its paper or its author's description: every
// probability by the definition, everything sorted.
#include "engine/sample/token_cuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "engine/sample/test_sampler.h"

namespace ruv::token_cuts_test {
namespace {

constexpr int kVectors = 10'000;
constexpr float kImpossible = -std::numeric_limits<float>::infinity();

// A token and what is left of its probability.
using Distribution = std::vector<std::pair<Token, double>>;

GenerateParams plain() {
  GenerateParams p;
  p.temperature = 1;
  p.top_k = 0;
  p.top_p = 1;
  p.min_p = 0;
  return p;
}

// Of all shapes: peaked or flat, with equal ones, some impossible.
std::vector<float> random_logits(Rng& rng) {
  std::vector<float> logits(1 + rng.below(60));
  const double width = 0.01 + 12 * rng.uniform() * rng.uniform();
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

// The likeliest first, of equals the lower id.
Distribution softmax(const std::vector<float>& logits, double temperature) {
  Distribution all;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == kImpossible) continue;
    all.emplace_back(static_cast<Token>(i), std::exp(logits[i] / temperature));
  }
  std::ranges::stable_sort(all, std::greater(), &std::pair<Token, double>::second);
  return all;
}

void normalize(Distribution& d) {
  double sum = 0;
  for (const auto& [id, p] : d) sum += p;
  for (auto& [id, p] : d) p /= sum;
}

double entropy(const Distribution& d) {
  double h = 0;
  for (const auto& [id, p] : d) h -= p > 0 ? p * std::log(p) : 0;
  return h;
}

void keep_top_k(Distribution& d, size_t k) {
  if (k > 0 && d.size() > k) d.resize(k);
  normalize(d);
}

// Meister et al., "Locally Typical Sampling", section 3.
void keep_typical(Distribution& d, double mass) {
  normalize(d);
  const double h = entropy(d);
  std::ranges::stable_sort(d, [&](const auto& a, const auto& b) {
    return std::fabs(-std::log(a.second) - h) < std::fabs(-std::log(b.second) - h) - 1e-12;
  });
  size_t n = 0;
  double sum = 0;
  while (n < d.size() && (n == 0 || sum < mass)) sum += d[n++].second;
  d.resize(n);
  normalize(d);
  std::ranges::stable_sort(d, std::greater(), &std::pair<Token, double>::second);
}

void keep_likely(Distribution& d, double top_p, double min_p) {
  normalize(d);
  size_t n = 0;
  double sum = 0;
  while (n < d.size() && (n == 0 || (sum < top_p && d[n].second >= min_p * d[0].second))) {
    sum += d[n++].second;
  }
  d.resize(n);
  normalize(d);
}

// p-e-w, "Exclude Top Choices": the likeliest go as long as another one behind them reaches the
// threshold.
void exclude_top(Distribution& d, double threshold) {
  normalize(d);
  while (d.size() > 1 && d[1].second >= threshold) d.erase(d.begin());
  normalize(d);
}

// kalomaze, "Dynamic Temperature": by the share of the largest possible entropy.
void heat(Distribution& d, double low, double high, double exponent) {
  normalize(d);
  if (d.size() < 2) return;
  const double share = std::max(0.0, entropy(d) / std::log(static_cast<double>(d.size())));
  const double temperature = low + (high - low) * std::pow(share, exponent);
  // Relative to the largest, where small temperatures would give nothing but zeros.
  const double most = d.front().second;
  if (temperature <= 0) d.resize(1);
  for (auto& [id, p] : d) p = temperature <= 0 ? 1 : std::pow(p / most, 1 / temperature);
  normalize(d);
}

// What the sampler drew from.
std::map<Token, double> kept_by(const SequentialSampler& sampler) {
  std::map<Token, double> kept;
  double sum = 0;
  for (const WeighedToken& token : sampler.scratch().kept) sum += token.weight;
  for (const WeighedToken& token : sampler.scratch().kept) kept[token.id] = token.weight / sum;
  return kept;
}

// The sampler and the reference leave the same tokens equal chances, and the drawn one is of them.
// `change` draws the parameters, `reference` cuts by them. Returns how many tokens were cut.
int64_t compare(
    const std::function<void(Rng&, GenerateParams&)>& change,
    const std::function<void(const GenerateParams&, Distribution&, double coin)>& reference) {
  Rng rng(77);
  int64_t n_cut = 0;
  for (int i = 0; i < kVectors; ++i) {
    GenerateParams params = plain();
    change(rng, params);
    std::vector<float> logits = random_logits(rng);
    const uint64_t seed = rng.next();
    SequentialSampler sampler(params, seed);
    Distribution wanted = softmax(logits, params.dynatemp_range > 0 ? 1 : params.temperature);
    n_cut += std::ssize(wanted);
    Rng numbers(seed);
    numbers.next();
    reference(params, wanted, numbers.uniform());
    n_cut -= std::ssize(wanted);
    const Token drawn = sampler.sample(logits, {}, 0);
    const std::map<Token, double> kept = kept_by(sampler);
    EXPECT_EQ(kept.size(), wanted.size()) << i;
    for (const auto& [id, p] : wanted) {
      const auto found = kept.find(id);
      EXPECT_NEAR(found == kept.end() ? -1 : found->second, p, 1e-9) << i << ": " << id;
    }
    EXPECT_TRUE(kept.contains(drawn) && kept.at(drawn) > 0) << i;
    if (testing::Test::HasFailure()) break;
  }
  return n_cut;
}

TEST(TokenCuts, KeepTheTypical) {
  const int64_t n_cut = compare(
      [](Rng& rng, GenerateParams& p) {
        p.typical_p = rng.uniform();
        p.temperature = 0.3 + 2 * rng.uniform();
      },
      [](const GenerateParams& p, Distribution& d, double) { keep_typical(d, p.typical_p); });
  EXPECT_GT(n_cut, kVectors);
}

// Neither the likeliest nor the many others are near the mean; the others are nearer.
TEST(TokenCuts, KeepOneTypicalTokenAtLeast) {
  GenerateParams params = plain();
  params.typical_p = 0;
  std::vector<float> logits(100'000, 0);
  logits[500] = 10;
  SequentialSampler sampler(params, 1);
  EXPECT_EQ(sampler.sample(logits, {}, 0), 0);
  EXPECT_EQ(sampler.scratch().kept.size(), 1U);
}

TEST(TokenCuts, ExcludeTopChoices) {
  int64_t n_tossed = 0;
  const int64_t n_cut = compare(
      [](Rng& rng, GenerateParams& p) {
        p.xtc_probability = 0.5;
        p.xtc_threshold = 0.5 * rng.uniform() * rng.uniform();
      },
      [&](const GenerateParams& p, Distribution& d, double coin) {
        normalize(d);
        n_tossed += coin < 0.5;
        if (coin < 0.5) exclude_top(d, p.xtc_threshold);
      });
  EXPECT_GT(n_cut, kVectors);
  EXPECT_NEAR(static_cast<double>(n_tossed), kVectors / 2, 250);
}

TEST(TokenCuts, HeatByEntropy) {
  compare(
      [](Rng& rng, GenerateParams& p) {
        p.temperature = rng.below(8) == 0 ? 0 : 1.5 * rng.uniform();
        p.dynatemp_range = 0.1 + rng.uniform();
        p.dynatemp_exponent = rng.below(8) == 0 ? 0 : 3 * rng.uniform();
      },
      [](const GenerateParams& p, Distribution& d, double) {
        heat(d, std::max(0.0, p.temperature - p.dynatemp_range), p.temperature + p.dynatemp_range,
             p.dynatemp_exponent);
      });
}

TEST(TokenCuts, FollowEachOther) {
  const int64_t n_cut = compare(
      [](Rng& rng, GenerateParams& p) {
        p.temperature = 0.5 + rng.uniform();
        p.top_k = static_cast<int64_t>(rng.below(40));
        p.typical_p = 0.3 + 0.699 * rng.uniform();
        p.top_p = 0.5 + 0.5 * rng.uniform();
        p.min_p = 0.1 * rng.uniform();
        p.xtc_probability = 0.9;
        p.xtc_threshold = 0.2 * rng.uniform();
        p.dynatemp_range = rng.below(2) == 0 ? 0 : rng.uniform();
      },
      [](const GenerateParams& p, Distribution& d, double coin) {
        keep_top_k(d, static_cast<size_t>(p.top_k));
        keep_typical(d, p.typical_p);
        keep_likely(d, p.top_p, p.min_p);
        if (coin < p.xtc_probability) exclude_top(d, p.xtc_threshold);
        if (p.dynatemp_range > 0) {
          heat(d, std::max(0.0, p.temperature - p.dynatemp_range), p.temperature + p.dynatemp_range,
               1);
        }
      });
  EXPECT_GT(n_cut, kVectors);
}

// Tang et al., "Top-nσ": max - n · σ of the logits that are possible.
TEST(TokenCuts, BelowSigmaNothingStays) {
  Rng rng(5);
  int64_t n_cut = 0;
  for (int i = 0; i < kVectors; ++i) {
    GenerateParams params = plain();
    params.top_n_sigma = 0.01 + 3 * rng.uniform();
    if (rng.below(2) == 0) params.top_k = 1 + static_cast<int64_t>(rng.below(20));
    const std::vector<float> logits = random_logits(rng);
    std::vector<double> possible;
    for (const float x : logits) {
      if (x != kImpossible) possible.push_back(double{x});
    }
    const auto n = static_cast<double>(possible.size());
    const double mean = std::accumulate(possible.begin(), possible.end(), 0.0) / n;
    double variance = 0;
    for (const double x : possible) variance += std::pow(x - mean, 2) / n;
    const double least =
        *std::ranges::max_element(possible) - params.top_n_sigma * std::sqrt(variance);
    std::vector<float> left = logits;
    SequentialSampler sampler(params, rng.next());
    const Token drawn = sampler.sample(left, {}, 0);
    for (size_t k = 0; k < logits.size(); ++k) {
      // One token at the edge may fall on either side by rounding.
      if (std::fabs(double{logits[k]} - least) < 1e-9) continue;
      const bool stays = logits[k] != kImpossible && double{logits[k]} >= least;
      ASSERT_EQ(left[k] != kImpossible, stays) << i << ": " << k;
      n_cut += logits[k] != kImpossible && !stays;
    }
    ASSERT_NE(left[static_cast<size_t>(drawn)], kImpossible) << i;
  }
  EXPECT_GT(n_cut, kVectors);
}

// The same logits and numbers, with and without a cut of everything that it could drop.
TEST(TokenCuts, ThatCutNothingChangeNoProbability) {
  for (const auto& change : std::vector<std::function<void(GenerateParams&)>>{
           [](GenerateParams& p) { p.xtc_probability = 1, p.xtc_threshold = 0.51; },
           [](GenerateParams& p) { p.top_n_sigma = -1; },
           [](GenerateParams& p) { p.dynatemp_exponent = 2; }}) {
    Rng rng(9);
    for (int i = 0; i < 200; ++i) {
      GenerateParams params = plain();
      std::vector<float> logits = random_logits(rng);
      std::vector<float> same = logits;
      SequentialSampler without(params, 3);
      change(params);
      SequentialSampler with(params, 3);
      EXPECT_EQ(with.sample(logits, {}, 0), without.sample(same, {}, 0));
    }
  }
}

// Greedy answers are cut by nothing, unless the temperature may rise.
TEST(TokenCuts, LeaveTemperatureZeroAsItIs) {
  GenerateParams params = plain();
  params.temperature = 0;
  params.typical_p = 0.1;
  params.xtc_probability = 1;
  params.xtc_threshold = 0.01;
  std::vector<float> logits = {1, 1.5F, 1.4F, -1};
  EXPECT_EQ(SequentialSampler(params, 1).sample(logits, {}, 0), 1);
  EXPECT_TRUE(Sampler(params).takes_likeliest());
  params.dynatemp_range = 1;
  EXPECT_FALSE(Sampler(params).takes_likeliest());
}

// How often the drawn token is which follows the kept probabilities.
TEST(TokenCuts, DrawInProportion) {
  GenerateParams params = plain();
  params.xtc_probability = 0.5;
  params.xtc_threshold = 0.2;
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F),
                                     std::log(0.05F)};
  SequentialSampler sampler(params, 4);
  std::map<Token, int> counts;
  constexpr int kDraws = 40'000;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<float> copy = logits;
    ++counts[sampler.sample(copy, {}, 0)];
  }
  // Half of the time as it is, else without token 0.
  const double wanted[] = {0.25, 0.15 + 0.3, 0.075 + 0.15, 0.025 + 0.05};
  for (Token id = 0; id < 4; ++id) {
    const double p = wanted[id];
    EXPECT_NEAR(counts[id], kDraws * p, 4.5 * std::sqrt(kDraws * p * (1 - p))) << id;
  }
}

}  // namespace
}  // namespace ruv::token_cuts_test
