// Guessing ahead changes nothing but the speed: 1,000 prompts give the same bytes with and without
// it, and sampled tokens have the same distribution as computed from the model's own logits.
#include <cmath>

#include "base/rng.h"
#include "engine/test_equal_steps.h"
#include "property/asked_engine.h"
#include "property/random_sampling.h"

namespace ruv {
namespace {

constexpr const char* kSpeculationModel = "/models/ruvltra-nano-q8_0.gguf";

class Speculation : public testing::Test {
 protected:
  void SetUp() override {
    auto model = load_model(std::string(RUV_SOURCE_DIR) + kSpeculationModel);
    ASSERT_TRUE(model.has_value()) << model.error().message();
    model_ = *model;
    plain_ = plain_engine(model_, kCtx, default_kv_type(model_info(*model_).head_dim));
    guessing_ = equal_steps_engine(model_, {.n_threads = 1, .n_ctx = kCtx, .max_sequences = 4});
    learn();
  }

  // A text that goes on and on, alone: steps of many rows are tried and found worth it.
  void learn() {
    Asked asked;
    asked.prompt = tokenize(*model_, kList).value();
    asked.params.max_tokens = 64;
    asked.params.temperature = 0;
    asked.params.ignore_eos = true;
    AskedEngine one(*guessing_);
    one.ask(asked);
    ASSERT_GT(one.wait()[0].timings.n_accepted_tokens, 16);
  }

  // Texts that say things again, as code and lists do, so that guesses are right now and then.
  std::vector<Token> random_prompt(Rng& rng) const {
    static const char* const kSaid[] = {
        "The capital of France is Paris. ",    "One, two, three, four, five. ",
        "{\"name\": \"Anna\", \"age\": 30}, ", "for i in range(10):\n    print(i)\n",
        "What is the capital of Italy? ",      "I like red apples and green pears. "};
    std::string text;
    const uint64_t n = 1 + rng.below(5);
    const uint64_t only = rng.below(std::size(kSaid));
    const bool again = rng.below(2) == 0;
    for (uint64_t i = 0; i < n; ++i) text += kSaid[again ? only : rng.below(std::size(kSaid))];
    std::vector<Token> tokens = tokenize(*model_, text).value();
    tokens.resize(tokens.size() - rng.below(tokens.size() / 2));
    return tokens;
  }

  static constexpr int64_t kCtx = 192;
  static constexpr const char* kList =
      "One, two, three, four, five. One, two, three, four, five. One, two, three, four, five. One, "
      "two";
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Engine> plain_;
  std::unique_ptr<Engine> guessing_;
};

TEST_F(Speculation, AThousandPromptsGiveTheSameBytes) {
  constexpr int kPrompts = 1000;
  constexpr int kTogether = 8;
  Rng rng(20);
  int64_t n_drafted = 0;
  int64_t n_accepted = 0;
  int n_guessed = 0;
  for (int i = 0; i < kPrompts; i += kTogether) {
    AskedEngine all(*guessing_);
    std::vector<Asked> asked;
    for (int k = 0; k < kTogether; ++k) {
      Asked& one = asked.emplace_back();
      one.prompt = random_prompt(rng);
      one.params.max_tokens = 24;
      one.params.ignore_eos = true;
      one.params.temperature = rng.below(2) == 0 ? 0 : 0.7;
      one.params.seed = rng.next() >> 12;
      one.params.n_logprobs = rng.below(4) == 0 ? 1 : -1;
      draw_sampling(rng, true, one.params);
      all.ask(one);
    }
    const std::deque<Told>& told = all.wait();
    for (size_t k = 0; k < asked.size(); ++k) {
      const Told expected = plainly(*plain_, asked[k]);
      ASSERT_EQ(expected.timings.n_drafted_tokens, 0);
      ASSERT_TRUE(told[k].same_bytes(expected))
          << "prompt " << i << " + " << k << ": \"" << told[k].text << "\" and \"" << expected.text
          << "\"";
      n_drafted += told[k].timings.n_drafted_tokens;
      n_accepted += told[k].timings.n_accepted_tokens;
      n_guessed += told[k].timings.n_drafted_tokens > 0;
    }
  }
  EXPECT_GT(n_guessed, kPrompts / 2);
  EXPECT_GT(n_accepted, 0);
  EXPECT_GT(n_drafted, n_accepted) << "no guess was ever wrong: nothing was refused";
}

// Pearson's statistic against the first counts' own uncertainty: both are samples.
double chi_square(const std::vector<int64_t>& a, const std::vector<int64_t>& b, int64_t& n_bins) {
  double sum = 0;
  double rest_a = 0;
  double rest_b = 0;
  n_bins = 0;
  const auto add = [&](double x, double y) {
    sum += (x - y) * (x - y) / (x + y);
    ++n_bins;
  };
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]);
    const auto y = static_cast<double>(b[i]);
    if (x + y >= 20) {
      add(x, y);
    } else {
      rest_a += x;
      rest_b += y;
    }
  }
  if (rest_a + rest_b > 0) add(rest_a, rest_b);
  return sum;
}

// Seeds of the two sides differ, so that equal bytes for equal seeds are no help.
TEST_F(Speculation, SampledTokensHaveTheSameDistribution) {
  Asked asked;
  asked.prompt = tokenize(*model_, kList).value();
  asked.params.max_tokens = 4;
  asked.params.temperature = 2.0;
  asked.params.top_k = 0;
  asked.params.top_p = 1;
  asked.params.min_p = 0;
  asked.params.ignore_eos = true;
  constexpr int kSeeds = 3000;
  constexpr int kTogether = 100;
  constexpr size_t kPositions = 4;
  const auto n_vocab = static_cast<size_t>(model_info(*model_).n_vocab);
  using Counts = std::vector<std::vector<int64_t>>;
  const auto sample = [&](bool speculative, uint64_t first_seed) {
    Counts counts(kPositions, std::vector<int64_t>(n_vocab, 0));
    int64_t n_drafted = 0;
    for (int i = 0; i < kSeeds; i += kTogether) {
      AskedEngine all(*guessing_);
      for (int k = 0; k < kTogether; ++k) {
        asked.params.speculative = speculative;
        asked.params.seed = first_seed + static_cast<uint64_t>(i + k);
        all.ask(asked);
      }
      for (const Told& told : all.wait()) {
        n_drafted += told.timings.n_drafted_tokens;
        for (size_t at = 0; at < kPositions; ++at) ++counts[at][static_cast<size_t>(told.ids[at])];
      }
    }
    EXPECT_EQ(n_drafted > kSeeds / 4, speculative) << n_drafted;
    return counts;
  };
  const Counts with = sample(true, 0);
  const Counts without = sample(false, 1'000'000);
  for (size_t at = 0; at < kPositions; ++at) {
    int64_t n_bins = 0;
    const double statistic = chi_square(with[at], without[at], n_bins);
    const auto freedom = static_cast<double>(n_bins - 1);
    ASSERT_GT(n_bins, 3) << "position " << at << " shows nothing";
    // Mean and variance of chi-square; beyond 5 deviations by chance once in a million or so.
    EXPECT_LT(statistic, freedom + 5 * std::sqrt(2 * freedom)) << "position " << at;
  }
}

}  // namespace
}  // namespace ruv
