// Scores of the built-in model: the same whichever way they are computed, in whatever order.
#include "eval/likelihood.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/model.h"
#include "ruv/logits.h"

namespace ruv {
namespace {

class LikelihoodTest : public testing::Test {
 protected:
  static const std::shared_ptr<const Model>& model() {
    static const std::shared_ptr<const Model> loaded =
        load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf").value();
    return loaded;
  }
  static std::unique_ptr<Engine> engine(int64_t max_sequences = 8, bool keep_prefixes = true) {
    EngineOptions options;
    options.n_threads = 2;
    options.n_ctx = 256;
    options.max_sequences = max_sequences;
    options.kv.type = KvType::f16;
    options.kv.keep_prefixes = keep_prefixes;
    return std::move(*Engine::create(model(), options));
  }
  static std::vector<TokenPair> pairs() {
    const PairEncoder encoder = PairEncoder::create(*model()).value();
    std::vector<TokenPair> pairs;
    const std::string context =
        "Once upon a time there was a small town by the river, and in the town lived a baker who "
        "had never in his life been further away than the mill. One morning he";
    for (const char* const choice : {" went", " said to the miller", " a", " went out", "\n"}) {
      pairs.push_back(encoder.encode_pair(context, choice).value());
    }
    pairs.push_back(encoder.encode_pair("", "The end").value());
    pairs.push_back(encoder.encode_pair("Two ", "words of a continuation").value());
    pairs.push_back(pairs.front());
    return pairs;
  }
  // In one pass, in double.
  static Likelihood plain(const TokenPair& pair) {
    std::vector<Token> ids = pair.context;
    ids.insert(ids.end(), pair.continuation.begin(), pair.continuation.end());
    Likelihood likelihood;
    const auto add = [&](int64_t position, std::span<const float> logits) {
      if (position + 1 < std::ssize(pair.context) || position + 1 >= std::ssize(ids)) return;
      double sum = 0;
      for (const float x : logits) sum += std::exp(double{x});
      const auto id = static_cast<size_t>(ids[static_cast<size_t>(position) + 1]);
      likelihood.add(double{logits[id]} - std::log(sum),
                     logits[id] == *std::ranges::max_element(logits));
    };
    LogitsOptions options;
    options.all = true;
    EXPECT_TRUE(compute_logits(*model(), ids, options, add).ok());
    return likelihood;
  }
  static EvalLimits limits() { return {.max_tokens = 256, .n_threads = 2}; }
};

TEST_F(LikelihoodTest, EqualThoseOfOnePass) {
  const std::vector<TokenPair> all = pairs();
  const std::unique_ptr<Engine> one = engine();
  const std::vector<Likelihood> scores = log_likelihoods(*one, all, limits()).value();
  ASSERT_EQ(scores.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const Likelihood want = plain(all[i]);
    ASSERT_EQ(scores[i].token_logprobs.size(), all[i].continuation.size()) << i;
    EXPECT_NEAR(scores[i].log_likelihood, want.log_likelihood, 1e-4) << i;
    EXPECT_EQ(scores[i].is_greedy, want.is_greedy) << i;
  }
  // A context that several begin with is computed once.
  EXPECT_GE(one->kv_stats().reused_tokens, 2 * std::ssize(all[0].context));
}

TEST_F(LikelihoodTest, DoNotDependOnOrderBatchOrCache) {
  const std::vector<TokenPair> all = pairs();
  std::vector<TokenPair> reversed(all.rbegin(), all.rend());
  const auto want = log_likelihoods(*engine(), all, limits()).value();
  const auto alone = log_likelihoods(*engine(1, false), all, limits()).value();
  const auto back = log_likelihoods(*engine(), reversed, limits()).value();
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(want[i].log_likelihood, alone[i].log_likelihood) << i;
    EXPECT_EQ(want[i].log_likelihood, back[all.size() - 1 - i].log_likelihood) << i;
  }
}

TEST_F(LikelihoodTest, LongContextsLoseTheirBeginning) {
  TokenPair pair{std::vector<Token>(600), {7}};
  for (size_t i = 0; i < pair.context.size(); ++i) pair.context[i] = static_cast<Token>(i % 200);
  TokenPair cut = pair;
  cut.context.erase(cut.context.begin(), cut.context.end() - 256);
  const std::vector<TokenPair> both{pair, cut};
  const auto scores = log_likelihoods(*engine(), both, limits()).value();
  EXPECT_EQ(scores[0].log_likelihood, scores[1].log_likelihood);
  const std::vector<TokenPair> longer{{{1}, std::vector<Token>(257, 5)}};
  const auto refused = log_likelihoods(*engine(), longer, limits());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid);
}

TEST_F(LikelihoodTest, GreedyAnswersAreGreedyContinuations) {
  const PairEncoder encoder = PairEncoder::create(*model()).value();
  const std::unique_ptr<Engine> one = engine();
  const std::vector<GenerateTask> tasks{{"Once upon a time", {}, 12},
                                        {"Once upon a time", {"e"}, 12}};
  const std::vector<std::string> texts = generate_all(*one, encoder, tasks, limits()).value();
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts[1], texts[0].substr(0, texts[0].find('e')));
  const std::vector<GenerateTask> too_long{{"x", {}, 256}};
  EXPECT_FALSE(generate_all(*one, encoder, too_long, limits()));
}

TEST_F(LikelihoodTest, StopsWhenToldTo) {
  EvalLimits stopped = limits();
  stopped.go_on = [](double) { return false; };
  const auto scores = log_likelihoods(*engine(), pairs(), stopped);
  ASSERT_FALSE(scores);
  EXPECT_EQ(scores.error().code(), Code::cancelled);
}

TEST_F(LikelihoodTest, ContextAndContinuationAreOneText) {
  const PairEncoder encoder = PairEncoder::create(*model()).value();
  const TokenPair moved = encoder.encode_pair("In the end ", "they won").value();
  const TokenPair plain = encoder.encode_pair("In the end", " they won").value();
  EXPECT_EQ(moved.context, plain.context);
  EXPECT_EQ(moved.continuation, plain.continuation);
  std::vector<Token> joined = plain.context;
  joined.insert(joined.end(), plain.continuation.begin(), plain.continuation.end());
  EXPECT_EQ(joined, encoder.encode("In the end they won"));
  const TokenPair empty = encoder.encode_pair("", "they").value();
  EXPECT_EQ(empty.context, std::vector<Token>{encoder.prefix()});
  EXPECT_FALSE(encoder.encode_pair("they", ""));
}

TEST_F(LikelihoodTest, WindowsHaveEachTokenOnce) {
  const PairEncoder encoder = PairEncoder::create(*model()).value();
  const std::string text = "The quick brown fox jumps over the lazy dog and the dog sleeps on.";
  const std::vector<Token> ids = encoder.encode(text);
  for (int64_t size = 1; size <= std::ssize(ids) + 1; ++size) {
    std::vector<Token> seen;
    for (const TokenPair& window : encoder.windows(text, size)) {
      ASSERT_FALSE(window.context.empty());
      const bool is_first = seen.empty();
      EXPECT_EQ(window.context.back(), is_first ? encoder.prefix() : seen.back());
      seen.insert(seen.end(), window.continuation.begin(), window.continuation.end());
      EXPECT_LE(std::ssize(window.context) + std::ssize(window.continuation), size + 1);
    }
    EXPECT_EQ(seen, ids);
  }
  EXPECT_TRUE(encoder.windows("", 4).empty() || !encoder.encode("").empty());
}

TEST(EvalTexts, SpacesWordsAndCharacters) {
  EXPECT_EQ(size_without_end_space("a b \t\n"), 3U);
  EXPECT_EQ(size_without_end_space("a\xC2\xA0\xE3\x80\x80"), 1U);
  EXPECT_EQ(size_without_end_space("  "), 0U);
  EXPECT_EQ(count_words(""), 1);
  EXPECT_EQ(count_words(" a  b\n"), 4);
  EXPECT_EQ(count_characters("aé\xF0\x9F\x98\x80"), 3);
}

}  // namespace
}  // namespace ruv
