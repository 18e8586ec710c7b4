// The sampler's steps in any order, against references by their definitions: every probability
// anew, everything sorted.
#include "engine/sample/step_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "engine/sample/test_sampler.h"

namespace ruv::step_order_test {
namespace {

constexpr int kVectors = 10'000;

// What is left, the likeliest first, of equals the lower id.
struct Left {
  Token id;
  double logit;
  double p;
};

class StepReference {
 public:
  StepReference(const GenerateParams& params, const std::vector<float>& logits,
                const std::vector<Token>& history, double coin)
      : params_(params), history_(history), coin_(coin) {
    for (size_t i = 0; i < logits.size(); ++i) {
      left_.push_back({static_cast<Token>(i), double{logits[i]}, 0});
    }
    weigh();
  }

  void apply(const std::string& step) {
    if (step == "penalties") penalize();
    if (step == "top_n_sigma" && params_.top_n_sigma > 0) cut_below_sigma();
    if (step == "top_k" && params_.top_k > 0) keep_first(static_cast<size_t>(params_.top_k));
    if (step == "typ_p" || step == "typical_p") keep_typical();
    if (step == "top_p") keep_likely([&](double sum, double) { return sum < params_.top_p; });
    if (step == "min_p") {
      keep_likely([&](double, double p) { return p >= params_.min_p * left_[0].p; });
    }
    if (step == "xtc" && coin_ < params_.xtc_probability) exclude_top();
    if (step == "temperature" || step == "temp") cool();
    weigh();
  }

  const std::vector<Left>& left() const { return left_; }

 private:
  void weigh() {
    std::ranges::stable_sort(left_, [](const Left& a, const Left& b) {
      return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
    });
    double sum = 0;
    for (Left& t : left_) sum += t.p = std::exp(t.logit - left_[0].logit);
    for (Left& t : left_) t.p /= sum;
  }

  void penalize() {
    for (Left& t : left_) {
      const auto n = static_cast<double>(std::ranges::count(history_, t.id));
      if (n == 0) continue;
      t.logit =
          t.logit > 0 ? t.logit / params_.repetition_penalty : t.logit * params_.repetition_penalty;
      t.logit -= n * params_.frequency_penalty + params_.presence_penalty;
    }
  }

  void cut_below_sigma() {
    const auto n = static_cast<double>(left_.size());
    double mean = 0;
    double variance = 0;
    for (const Left& t : left_) mean += t.logit / n;
    for (const Left& t : left_) variance += (t.logit - mean) * (t.logit - mean) / n;
    const double least = left_[0].logit - params_.top_n_sigma * std::sqrt(variance);
    std::erase_if(left_, [&](const Left& t) { return t.logit < least; });
  }

  void keep_first(size_t n) { left_.resize(std::min(n, left_.size())); }

  double entropy() const {
    double h = 0;
    for (const Left& t : left_) h -= t.p > 0 ? t.p * std::log(t.p) : 0;
    return h;
  }

  void keep_typical() {
    if (params_.typical_p >= 1) return;
    const double h = entropy();
    const auto oddness = [&](const Left& t) { return std::fabs(-std::log(t.p) - h); };
    std::ranges::stable_sort(
        left_, [&](const Left& a, const Left& b) { return oddness(a) < oddness(b) - 1e-12; });
    keep_likely([&](double sum, double) { return sum < params_.typical_p; });
  }

  void keep_likely(const std::function<bool(double sum, double p)>& is_wanted) {
    size_t n = 0;
    double sum = 0;
    while (n < left_.size() && (n == 0 || is_wanted(sum, left_[n].p))) sum += left_[n++].p;
    left_.resize(n);
  }

  void exclude_top() {
    while (left_.size() > 1 && left_[1].p >= params_.xtc_threshold) left_.erase(left_.begin());
  }

  void cool() {
    double temperature = params_.temperature;
    if (params_.dynatemp_range > 0) {
      if (left_.size() < 2) return;
      const double share = entropy() / std::log(static_cast<double>(left_.size()));
      const double low = std::max(0.0, temperature - params_.dynatemp_range);
      const double high = temperature + params_.dynatemp_range;
      temperature = low + (high - low) * std::pow(std::max(0.0, share), params_.dynatemp_exponent);
    }
    if (temperature < 1e-30) return keep_first(1);
    for (Left& t : left_) t.logit /= temperature;
  }

  const GenerateParams& params_;
  const std::vector<Token>& history_;
  double coin_;
  std::vector<Left> left_;
};

GenerateParams random_params(Rng& rng) {
  GenerateParams p;
  p.temperature = 0.3 + 2 * rng.uniform();
  p.top_k = static_cast<int64_t>(rng.below(30));
  p.typical_p = 0.3 + 0.7 * rng.uniform();
  p.top_p = 0.5 + 0.5 * rng.uniform();
  p.min_p = 0.2 * rng.uniform();
  p.top_n_sigma = rng.below(2) == 0 ? 0 : 0.5 + 3 * rng.uniform();
  p.xtc_probability = 0.5;
  p.xtc_threshold = 0.4 * rng.uniform();
  p.dynatemp_range = rng.below(2) == 0 ? 0 : rng.uniform();
  p.repetition_penalty = 0.5 + rng.uniform();
  p.presence_penalty = rng.uniform() - 0.5;
  p.frequency_penalty = rng.uniform() - 0.5;
  return p;
}

std::vector<float> random_logits(Rng& rng) {
  std::vector<float> logits(1 + rng.below(60));
  const double width = 0.1 + 12 * rng.uniform() * rng.uniform();
  for (float& x : logits) {
    x = static_cast<float>((rng.uniform() + rng.uniform() + rng.uniform() - 1.2) * width);
  }
  return logits;
}

// Some of the names, in any order.
std::vector<std::string> random_order(Rng& rng) {
  std::vector<std::string> names = {"penalties", "top_n_sigma", "top_k", "typ_p", "top_p",
                                    "dry",       "min_p",       "xtc",   "tfs_z", "temperature"};
  for (size_t i = names.size(); i > 1; --i) std::swap(names[i - 1], names[rng.below(i)]);
  names.resize(rng.below(names.size() + 1));
  return names;
}

TEST(StepOrder, IsTheOneThatIsGiven) {
  Rng rng(31);
  int64_t n_left = 0;
  int64_t n_differ = 0;  // from the usual order
  for (int i = 0; i < kVectors; ++i) {
    GenerateParams params = random_params(rng);
    params.samplers = random_order(rng);
    const std::vector<float> logits = random_logits(rng);
    std::vector<Token> history(rng.below(20));
    for (Token& id : history) id = static_cast<Token>(rng.below(logits.size()));
    const uint64_t seed = rng.next();

    const bool tosses = std::ranges::find(*params.samplers, "xtc") != params.samplers->end();
    Rng numbers(seed);
    numbers.next();
    StepReference reference(params, logits, history, tosses ? numbers.uniform() : 1);
    for (const std::string& step : *params.samplers) reference.apply(step);

    SequentialSampler sampler(params, seed);
    std::vector<float> copy = logits;
    const Token drawn = sampler.sample(copy, history, std::ssize(history));
    std::map<Token, double> kept;
    double sum = 0;
    for (const WeighedToken& token : sampler.scratch().kept) sum += token.weight;
    for (const WeighedToken& token : sampler.scratch().kept) kept[token.id] = token.weight / sum;
    ASSERT_EQ(kept.size(), reference.left().size()) << i;
    for (const Left& token : reference.left()) {
      ASSERT_TRUE(kept.contains(token.id)) << i << ": " << token.id;
      ASSERT_NEAR(kept.at(token.id), token.p, 2e-5) << i << ": " << token.id;
    }
    ASSERT_TRUE(kept.contains(drawn)) << i;
    n_left += std::ssize(kept);

    params.samplers.reset();
    SequentialSampler usual(params, seed);
    copy = logits;
    n_differ += usual.sample(copy, history, std::ssize(history)) != drawn;
  }
  EXPECT_GT(n_left, 2 * kVectors);
  EXPECT_GT(n_differ, kVectors / 8);
}

TEST(StepOrder, LeavesOutWhatItDoesNotName) {
  GenerateParams params;
  params.temperature = 0;
  params.dry_multiplier = 5;
  params.adaptive_target = 0.5;
  params.samplers.emplace();
  EXPECT_FALSE(Sampler(params).takes_likeliest());  // the model's own distribution
  EXPECT_FALSE(Sampler(params).is_steered());
  params.samplers = {"temp"};
  EXPECT_TRUE(Sampler(params).takes_likeliest());
  params.samplers = {"temp", "penalties"};
  params.presence_penalty = 0.1;
  EXPECT_FALSE(Sampler(params).takes_likeliest());
  params.temperature = 1;
  params.samplers = {"adaptive_p"};
  EXPECT_TRUE(Sampler(params).is_steered());
}

// A temperature that no float32 survives takes the likeliest token.
TEST(StepOrder, SmallAndLargeNumbersStayNumbers) {
  for (const double temperature : {1e-300, 1e-31, 1e-29, 1e-6, 100.0}) {
    GenerateParams params;
    params.temperature = temperature;
    params.samplers = {"temperature", "typ_p", "top_p", "min_p"};
    params.typical_p = 0.9;
    std::vector<float> logits = {-1e9F, 1e9F, 0, 3};
    EXPECT_EQ(SequentialSampler(params, 1).sample(logits, {}, 0), 1) << temperature;
  }
}

TEST(StepOrder, ContradictionsAreRefusedByName) {
  const auto message = [](const std::vector<std::string>& samplers, int64_t mirostat = 0) {
    GenerateParams params;
    params.samplers = samplers;
    params.mirostat = mirostat;
    return check_samplers(params).message();
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({"temp", "adaptive_p"}), "");
  EXPECT_EQ(message({"temp", "temperature"}), "samplers: temperature comes twice");
  EXPECT_EQ(message({"adaptive_p", "top_k"}),
            "samplers: top_k after adaptive_p, which draws the token");
  EXPECT_EQ(message({}, 2), "samplers: not with mirostat, which replaces them");
}

}  // namespace
}  // namespace ruv::step_order_test
