#include "engine/reasoning_constraint.h"

#include <gtest/gtest.h>

namespace ruv::reasoning_constraint_test {
namespace {

constexpr Token kVocab = 20;
constexpr Token kBegin = 10, kClose = 11, kMark = 12, kBreak = 13, kEnd = 19;

// The tokens 1, 2 and 3 in this order, then nothing.
class OneTwoThree final : public TokenConstraint {
 public:
  std::unique_ptr<TokenConstraint> clone() const override {
    return std::make_unique<OneTwoThree>(*this);
  }
  bool done() const override { return false; }
  bool complete() const override { return next_ == 4; }
  Status allow(TokenMask& mask) const override {
    mask.add(next_);
    return {};
  }
  bool allows(Token id) const override { return id == next_; }
  void accept(Token id) override { next_ = id + 1; }

 private:
  Token next_ = 1;
};

std::vector<Token> allowed(const TokenConstraint& constraint) {
  TokenMask mask(kVocab);
  EXPECT_TRUE(constraint.allow(mask).ok());
  std::vector<Token> ids;
  for (Token id = 0; id < kVocab; ++id) {
    EXPECT_EQ(mask.has(id), constraint.allows(id)) << id;
    if (mask.has(id)) ids.push_back(id);
  }
  return ids;
}

ReasoningConstraint constraint_of(ReasoningRegion region, bool has_form = true) {
  std::unique_ptr<TokenConstraint> form;
  if (has_form) form = std::make_unique<OneTwoThree>();
  return ReasoningConstraint(std::move(region), {kEnd}, kVocab, std::move(form));
}

TEST(ReasoningConstraint, TheFormBeginsAfterTheRegion) {
  ReasoningConstraint c = constraint_of({.begin = kBegin, .end = {kClose, kMark}, .gap = {kBreak}});
  EXPECT_EQ(allowed(c), (std::vector<Token>{1, kBegin}));
  c.accept(kBegin);
  EXPECT_EQ(allowed(c).size(), static_cast<size_t>(kVocab) - 1);
  EXPECT_FALSE(c.allows(kEnd));
  for (const Token id : {5, kClose, 5, kClose, kClose, kMark}) c.accept(id);
  EXPECT_EQ(allowed(c), (std::vector<Token>{1, kBreak}));
  const auto other = c.clone();
  c.accept(kBreak);
  c.accept(kBreak);
  EXPECT_EQ(allowed(c), (std::vector<Token>{1}));
  for (const Token id : {1, 2, 3}) {
    EXPECT_FALSE(c.complete());
    EXPECT_FALSE(c.done());
    c.accept(id);
  }
  EXPECT_TRUE(c.complete());
  EXPECT_EQ(allowed(*other), (std::vector<Token>{1, kBreak}));
}

TEST(ReasoningConstraint, AnAnswerMayDoWithoutTheRegion) {
  ReasoningConstraint c = constraint_of({.begin = kBegin, .end = {kClose}});
  c.accept(1);
  EXPECT_EQ(allowed(c), (std::vector<Token>{2}));
  const ReasoningConstraint never = constraint_of({.end = {kClose}});
  EXPECT_EQ(allowed(never), (std::vector<Token>{1}));
}

TEST(ReasoningConstraint, EndsWhereTheBudgetDoes) {
  for (const int64_t budget : {0, 1, 4}) {
    ReasoningConstraint c =
        constraint_of({.end = {kClose, kMark}, .is_open = true, .max_tokens = budget});
    for (int64_t i = 0; i < budget; ++i) c.accept(7);
    EXPECT_EQ(allowed(c), (std::vector<Token>{kClose})) << budget;
    c.accept(kClose);
    EXPECT_EQ(allowed(c), (std::vector<Token>{kMark})) << budget;
    c.accept(kMark);
    EXPECT_EQ(allowed(c), (std::vector<Token>{1})) << budget;
  }
  // The model was ending by itself.
  ReasoningConstraint c = constraint_of({.end = {kClose, kMark}, .is_open = true, .max_tokens = 2});
  c.accept(7);
  c.accept(kClose);
  EXPECT_EQ(allowed(c), (std::vector<Token>{kMark}));
}

TEST(ReasoningConstraint, IsDoneAfterTheRegionWhereThereIsNoForm) {
  ReasoningConstraint c = constraint_of({.begin = kBegin, .end = {kClose}, .max_tokens = 1}, false);
  EXPECT_EQ(allowed(c).size(), static_cast<size_t>(kVocab));
  c.accept(kBegin);
  c.accept(3);
  EXPECT_FALSE(c.done());
  c.accept(kClose);
  EXPECT_TRUE(c.done());
  ReasoningConstraint without = constraint_of({.begin = kBegin, .end = {kClose}}, false);
  without.accept(4);
  EXPECT_TRUE(without.done());
}

}  // namespace
}  // namespace ruv::reasoning_constraint_test
