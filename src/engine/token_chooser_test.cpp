#include "engine/token_chooser.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

// Only tokens that are larger than the last one; done after `n`.
class Ascending final : public TokenConstraint {
 public:
  Ascending(Token first, int n, Token n_vocab) : next_(first), n_(n), n_vocab_(n_vocab) {}
  std::unique_ptr<TokenConstraint> clone() const override {
    return std::make_unique<Ascending>(*this);
  }
  bool done() const override { return n_ == 0; }
  bool allows(Token id) const override { return id >= next_; }
  Status allow(TokenMask& mask) const override {
    for (Token id = next_; id < n_vocab_; ++id) mask.add(id);
    return {};
  }
  void accept(Token id) override {
    next_ = id + 1;
    --n_;
  }

 private:
  Token next_;
  int n_;
  Token n_vocab_;
};

constexpr Token kVocab = 100;

GenerateParams greedy() {
  GenerateParams params;
  params.temperature = 0;
  return params;
}

// Row `row` of a step where token `best` is the likeliest and higher ids are likelier than lower
// ones.
void choose(TokenChooser& chooser, int64_t row, Token best) {
  std::vector<float> logits(kVocab);
  for (Token id = 0; id < kVocab; ++id) logits[static_cast<size_t>(id)] = static_cast<float>(id);
  logits[static_cast<size_t>(best)] = 1000;
  SampleScratch scratch;
  chooser.choose(row, logits, {}, scratch);
}

void begin(TokenChooser& chooser, const std::vector<Token>& draft) {
  chooser.begin_step(draft);
  if (chooser.is_constrained()) chooser.build_masks();
}

// The token of a step of one row.
Token next(TokenChooser& chooser, Token best) {
  begin(chooser, {});
  choose(chooser, 0, best);
  return chooser.take().id;
}

TEST(TokenChooser, AConstraintLimitsUntilItIsDone) {
  TokenChooser chooser(greedy(), 1, kVocab);
  begin(chooser, {});
  EXPECT_TRUE(chooser.takes_likeliest(0));
  chooser.constrain(std::make_unique<Ascending>(10, 2, kVocab));
  begin(chooser, {});
  EXPECT_FALSE(chooser.takes_likeliest(0));
  EXPECT_EQ(next(chooser, 12), 12);
  EXPECT_EQ(next(chooser, 12), 99);  // 12 may not come again
  begin(chooser, {});
  EXPECT_TRUE(chooser.takes_likeliest(0));
  EXPECT_EQ(next(chooser, 12), 12);
}

// Each row has the mask of its place in the draft; after the constraint's last token there is none.
TEST(TokenChooser, RowsOfADraftHaveMasksOfTheirOwn) {
  TokenChooser chooser(greedy(), 1, kVocab);
  chooser.constrain(std::make_unique<Ascending>(10, 2, kVocab));
  const std::vector<Token> draft = {20, 30, 5};
  begin(chooser, draft);
  EXPECT_EQ(chooser.n_masks(), 2);
  EXPECT_FALSE(chooser.takes_likeliest(1));
  EXPECT_TRUE(chooser.takes_likeliest(2));
  choose(chooser, 0, 20);
  choose(chooser, 1, 15);  // not after 20
  choose(chooser, 2, 5);
  EXPECT_EQ(chooser.take().id, 20);
  EXPECT_EQ(chooser.take().id, 99);
  EXPECT_FALSE(chooser.is_constrained());
  EXPECT_TRUE(chooser.has_choice());
  begin(chooser, {});
  EXPECT_FALSE(chooser.has_choice());  // what was not taken is forgotten
}

TEST(TokenChooser, ADraftIsCutWhereTheConstraintForbidsIt) {
  TokenChooser chooser(greedy(), 1, kVocab);
  std::vector<Token> draft = {20, 15, 30};
  chooser.cut(draft);
  EXPECT_EQ(draft.size(), 3U);
  chooser.constrain(std::make_unique<Ascending>(10, 5, kVocab));
  chooser.cut(draft);
  EXPECT_EQ(draft, std::vector<Token>{20});
  std::vector<Token> never = {9, 20};
  chooser.cut(never);
  EXPECT_TRUE(never.empty());
  EXPECT_EQ(next(chooser, 10), 10);  // looking ahead changed nothing
}

// After its last token a constraint forbids nothing, in a draft too.
TEST(TokenChooser, ADraftRunsOnAfterTheConstraintsEnd) {
  TokenChooser chooser(greedy(), 1, kVocab);
  chooser.constrain(std::make_unique<Ascending>(10, 1, kVocab));
  std::vector<Token> draft = {10, 3, 2};
  chooser.cut(draft);
  EXPECT_EQ(draft.size(), 3U);
}

// Whether a step of one row gives a token.
Status outcome(TokenChooser& chooser) {
  begin(chooser, {});
  EXPECT_FALSE(chooser.takes_likeliest(0));
  choose(chooser, 0, 5);
  EXPECT_EQ(chooser.has_choice(), chooser.failure().ok());
  return chooser.failure();
}

TEST(TokenChooser, BansLeaveWhatTheConstraintAllows) {
  GenerateParams params = greedy();
  params.allowed_token_ids = {3, 12, 40};
  TokenChooser chooser(params, 1, kVocab);
  EXPECT_EQ(next(chooser, 99), 40);
  chooser.constrain(std::make_unique<Ascending>(10, 2, kVocab));
  EXPECT_EQ(next(chooser, 12), 12);
  EXPECT_EQ(next(chooser, 12), 40);
  EXPECT_EQ(next(chooser, 3), 3);
}

TEST(TokenChooser, WhatLeavesNoTokenFailsAndEndsNothingElse) {
  GenerateParams params = greedy();
  params.allowed_token_ids = {3};
  TokenChooser chooser(params, 1, kVocab);
  EXPECT_TRUE(outcome(chooser).ok());
  chooser.constrain(std::make_unique<Ascending>(10, 2, kVocab));
  EXPECT_EQ(outcome(chooser).code(), Code::invalid);
  // Behind a draft it counts when the draft is right.
  params.allowed_token_ids = {20};
  TokenChooser behind(params, 1, kVocab);
  behind.constrain(std::make_unique<Ascending>(10, 2, kVocab));
  const std::vector<Token> draft = {20};
  begin(behind, draft);
  choose(behind, 0, 20);
  choose(behind, 1, 30);
  EXPECT_TRUE(behind.failure().ok());
  EXPECT_EQ(behind.take().id, 20);
  EXPECT_FALSE(behind.has_choice());
  EXPECT_EQ(behind.failure().code(), Code::invalid);
}

// Logits of a place in the answer, however often it is computed.
std::vector<float> logits_at(size_t place) {
  Rng rng(place);
  std::vector<float> logits(kVocab);
  for (float& x : logits) x = static_cast<float>(6 * rng.uniform());
  return logits;
}

// The answer of a chooser whose drafts are, at random, right so far or wrong from some token on.
std::vector<Token> drafted_answer(const GenerateParams& params, const std::vector<Token>& right,
                                  uint64_t seed) {
  Rng rng(seed);
  TokenChooser chooser(params, 5, kVocab);
  SampleScratch scratch;
  std::vector<Token> answer;
  while (answer.size() < right.size()) {
    std::vector<Token> draft(rng.below(std::min<uint64_t>(5, right.size() - answer.size())));
    for (size_t i = 0; i < draft.size(); ++i) {
      draft[i] = rng.below(4) == 0 ? Token{0} : right[answer.size() + i];
    }
    begin(chooser, draft);
    for (size_t row = 0; row <= draft.size(); ++row) {
      std::vector<float> logits = logits_at(answer.size() + row);
      const auto n = static_cast<int64_t>(answer.size() + row);
      chooser.choose(static_cast<int64_t>(row), logits,
                     {answer, std::span<const Token>(draft).first(row), n}, scratch);
    }
    for (size_t row = 0; row <= draft.size(); ++row) {
      answer.push_back(chooser.take().id);
      if (row == draft.size() || answer.back() != draft[row]) break;
    }
  }
  return answer;
}

// What is learned from a draft that was refused is forgotten.
TEST(TokenChooser, DraftsChangeNothingThatSteersChoices) {
  GenerateParams params;
  params.top_k = 0;
  const std::vector<Token> plain = drafted_answer(params, std::vector<Token>(60, 1), 0);
  std::vector<GenerateParams> all(3, params);
  all[0].mirostat = 1;
  all[1].mirostat = 2;
  all[2].adaptive_target = 0.2;
  for (GenerateParams& one : all) {
    one.mirostat_tau = 2;
    one.mirostat_eta = 0.5;
    EXPECT_TRUE(TokenChooser(one, 5, kVocab).chooses_in_order());
    std::vector<Token> right(60, -1);  // no draft is right: one token after the other
    right = drafted_answer(one, right, 0);
    EXPECT_NE(right, plain);
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      EXPECT_EQ(drafted_answer(one, right, seed), right) << seed;
    }
  }
}

}  // namespace
}  // namespace ruv
