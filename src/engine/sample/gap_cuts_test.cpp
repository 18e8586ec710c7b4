// The infill step against a reference that follows llama.cpp's: everything sorted, probabilities
// normalized after each cut.
#include "engine/sample/gap_cuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/rng.h"
#include "engine/sample/sampler.h"
#include "text/test_vocabularies.h"

namespace ruv::gap_cuts_test {
namespace {

constexpr int kVectors = 10'000;

struct Candidate {
  Token id;
  double p;
  std::string text;
  bool is_end;
};
using Candidates = std::vector<Candidate>;

void normalize(Candidates& all) {
  double sum = 0;
  for (const Candidate& c : all) sum += c.p;
  for (Candidate& c : all) c.p /= sum;
}

Candidates kept_above(const Candidates& all, double least) {
  Candidates kept;
  for (const Candidate& c : all) {
    if (c.is_end || c.p >= least) kept.push_back(c);
  }
  normalize(kept);
  return kept;
}

bool is_beginning(const Candidate& a, const Candidate& b) {
  return !a.text.empty() && b.text.compare(0, a.text.size(), a.text) == 0;
}

void merge_beginnings(Candidates& all) {
  std::set<Token> gone;
  for (Candidate& one : all) {
    for (Candidate& other : all) {
      if (gone.contains(one.id)) break;
      if (one.id == other.id || gone.contains(other.id) || !is_beginning(one, other)) continue;
      Candidate& more = other.p > one.p ? other : one;
      Candidate& less = other.p > one.p ? one : other;
      more.p += less.p;
      less.p = 0;
      gone.insert(less.id);
    }
  }
}

// The ids that are left. `all`: the likeliest first.
std::set<Token> reference(Candidates all, Token end) {
  normalize(all);
  double of_ends = 0;
  for (const Candidate& c : all) of_ends += c.is_end ? c.p : 0;
  const auto n_texts = [&] {
    return std::ranges::count_if(all, [](const Candidate& c) { return !c.is_end; });
  };
  if (3 * of_ends * static_cast<double>(all.size()) > 1 - of_ends) {
    std::erase_if(all, [](const Candidate& c) { return !c.is_end; });
  } else {
    merge_beginnings(all);
    all = kept_above(all, 0.2);
    if (n_texts() == 0) return {end};
    all = kept_above(all, 1.0 / static_cast<double>(n_texts() + 1));
  }
  std::set<Token> ids;
  for (const Candidate& c : all) ids.insert(c.id);
  return ids;
}

std::set<Token> ids_of(const std::vector<WeighedToken>& tokens) {
  std::set<Token> ids;
  for (const WeighedToken& token : tokens) ids.insert(token.id);
  return ids;
}

// Letters, words of them that begin each other, and control tokens, two of which end an answer.
class Gap : public testing::Test {
 protected:
  Gap() : tokenizer_(test_tokenizer(byte_test_spec({"a b", "ab c", "a c", "b c", "bc a"}))) {
    params_.stop_tokens = {kTool};
  }
  bool is_end(Token id) const { return id == kTool || tokenizer_->ends_answer(id); }

  static constexpr Token kFirst = 256, kTool = 263;
  std::shared_ptr<const Tokenizer> tokenizer_;
  GenerateParams params_;
};

TEST_F(Gap, EqualsTheReference) {
  Rng rng(71);
  const GapCuts cuts(params_, tokenizer_.get());
  int n_many = 0;
  int n_ends = 0;
  for (int i = 0; i < kVectors; ++i) {
    std::vector<float> logits(static_cast<size_t>(tokenizer_->vocab_size()), -30);
    const double width = 1 + 6 * rng.uniform();
    std::vector<WeighedToken> tokens;
    const auto add = [&](Token id) {
      logits[static_cast<size_t>(id)] = static_cast<float>(width * rng.uniform());
      if (is_end(id)) logits[static_cast<size_t>(id)] -= static_cast<float>(8 * rng.uniform());
      tokens.push_back({0, logits[static_cast<size_t>(id)], id});
    };
    for (Token id = 'a'; id <= 'c'; ++id) add(id);
    for (Token id = kFirst; id <= kTool; ++id) {
      if (rng.below(3) > 0) add(id);
    }
    std::ranges::sort(tokens, precedes);
    Candidates all;
    for (const WeighedToken& token : tokens) {
      all.push_back({token.id, std::exp(double{token.logit} - double{tokens[0].logit}),
                     tokenizer_->token_bytes(token.id, false), is_end(token.id)});
    }
    const auto end = cuts.likeliest_end(logits);
    ASSERT_TRUE(end.has_value());
    const std::set<Token> wanted = reference(all, end->id);
    for (size_t n = tokens.size(); n > 1; --n) std::swap(tokens[n - 1], tokens[rng.below(n)]);
    cuts.apply(tokens, end);
    ASSERT_EQ(ids_of(tokens), wanted) << i;
    n_many += wanted.size() > 1;
    n_ends += is_end(*wanted.begin());
  }
  EXPECT_GT(n_many, kVectors / 20);
  EXPECT_GT(n_ends, kVectors / 20);
  EXPECT_LT(n_ends, kVectors / 2);
}

TEST_F(Gap, EndsWhereNothingIsCertain) {
  const GapCuts cuts(params_, tokenizer_.get());
  const WeighedToken end{1, -9, kTool};
  std::vector<WeighedToken> tokens;
  for (Token id = 'p'; id < 'p' + 8; ++id) tokens.push_back({0, 1, id});
  std::vector<WeighedToken> copy = tokens;
  cuts.apply(copy, end);
  EXPECT_EQ(ids_of(copy), std::set<Token>{kTool});
  cuts.apply(tokens, std::nullopt);  // no end may come: the likeliest does
  EXPECT_EQ(ids_of(tokens), std::set<Token>{'p'});
}

TEST_F(Gap, TheLikeliestEndIsOneThatMayCome) {
  std::vector<float> logits(static_cast<size_t>(tokenizer_->vocab_size()), 5);
  const Token eos = *tokenizer_->spec().eos;
  logits[static_cast<size_t>(eos)] = 1;
  logits[kTool] = 0;
  EXPECT_EQ(GapCuts(params_, tokenizer_.get()).likeliest_end(logits)->id, eos);
  GenerateParams params = params_;
  params.ignore_eos = true;
  EXPECT_EQ(GapCuts(params, tokenizer_.get()).likeliest_end(logits)->id, kTool);
  logits[kTool] = -std::numeric_limits<float>::infinity();
  EXPECT_FALSE(GapCuts(params, tokenizer_.get()).likeliest_end(logits).has_value());
}

// A whole draw: without the step the text would come.
TEST_F(Gap, IsAStepOfTheSampler) {
  params_.samplers = {"top_k", "top_p", "infill"};
  params_.top_k = 40;
  std::vector<float> logits(static_cast<size_t>(tokenizer_->vocab_size()), -30);
  logits['a'] = 5;
  logits[kTool] = 4;
  SampleScratch scratch;
  for (const bool has_step : {true, false}) {
    if (!has_step) params_.samplers->pop_back();
    const Sampler sampler(params_, tokenizer_.get());
    SteerState state = sampler.start();
    std::vector<float> copy = logits;
    EXPECT_EQ(sampler.sample(copy, {}, {}, state, scratch), has_step ? kTool : Token{'a'});
  }
}

TEST_F(Gap, NeedsTopKBeforeIt) {
  const auto message = [&](const std::vector<std::string>& samplers, int64_t top_k) {
    params_.samplers = samplers;
    params_.top_k = top_k;
    return check_samplers(params_).message();
  };
  const std::string refusal = "samplers: infill needs top_k before it, from 1 to 256";
  EXPECT_EQ(message({"top_k", "infill"}, 256), "");
  EXPECT_EQ(message({"top_k", "infill"}, 0), refusal);
  EXPECT_EQ(message({"top_k", "infill"}, 257), refusal);
  EXPECT_EQ(message({"infill", "top_k"}, 40), refusal);
  EXPECT_EQ(message({"infill"}, 40), refusal);
}

}  // namespace
}  // namespace ruv::gap_cuts_test
