// Judgement: bookkeeping for "can this be satisfied?" among goals that refer to each other. The
// answer is the least fixed point: while a goal is being judged it counts as unsatisfiable where it
// is met again. A yes found so is final; a no is final only if it relied on nothing unfinished.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "grammar/goal/formula.h"

namespace ruv {

// What judgements share: work is counted in steps, so that the same input always ends at the same
// step, and nesting is bounded. Where either runs out the answer is yes, and `gave_up` stays set.
class JudgementBudget {
 public:
  static constexpr uint32_t kMaxDepth = 400;
  explicit JudgementBudget(uint64_t max_steps) : max_steps_(max_steps) {}

  bool gave_up() const { return gave_up_; }
  // For work that was left out elsewhere.
  void give_up() { gave_up_ = true; }
  // Grants steps for what follows.
  void renew() { n_steps_ = 0; }

 private:
  friend class Judgements;
  uint64_t max_steps_;
  uint64_t n_steps_ = 0;
  uint32_t depth_ = 0;
  uint32_t relied_on_ = UINT32_MAX;  // the lowest depth whose unfinished answer was used
  bool gave_up_ = false;
};

class Judgements {
 public:
  explicit Judgements(JudgementBudget& budget) : budget_(budget) {}

  // The known answer, or that of `judge`, a function without arguments.
  template <class Judge>
  bool operator()(Formula formula, Judge&& judge) {
    if (formula == Formula::no) return false;
    const auto known = known_.find(formula);
    if (known != known_.end()) {
      if (known->second.is_final) return known->second.answer;
      budget_.relied_on_ = std::min(budget_.relied_on_, known->second.depth);
      return false;
    }
    if (budget_.depth_ >= JudgementBudget::kMaxDepth || ++budget_.n_steps_ > budget_.max_steps_) {
      budget_.gave_up_ = true;
      return true;
    }
    const uint32_t depth = budget_.depth_++;
    const uint32_t relied_before = std::exchange(budget_.relied_on_, UINT32_MAX);
    known_[formula] = {.depth = depth};
    const bool answer = judge();
    --budget_.depth_;
    if (answer || budget_.relied_on_ >= depth) {
      known_[formula] = {.answer = answer, .is_final = true};
      budget_.relied_on_ = relied_before;
    } else {
      known_.erase(formula);
      budget_.relied_on_ = std::min(budget_.relied_on_, relied_before);
    }
    return answer;
  }

 private:
  // Whether the answer will not change, or the depth at which it is being found.
  struct Known {
    uint32_t depth = 0;
    bool answer = false;
    bool is_final = false;
  };
  JudgementBudget& budget_;
  std::unordered_map<Formula, Known> known_;
};

}  // namespace ruv
