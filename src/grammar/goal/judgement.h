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

// What judgements share: work is counted in steps, so that it ends at the same step on every
// machine, and nesting is bounded. Where either runs out the answer is yes, and gave_up() is set
// until it is taken. What was found then is not kept as an answer, so other work does not suffer
// from it; what was found before is, so work that follows takes fewer steps than it would alone,
// and never more.
class JudgementBudget {
 public:
  static constexpr uint32_t kMaxDepth = 400;
  explicit JudgementBudget(uint64_t max_steps) : max_steps_(max_steps) {}

  bool gave_up() const { return gave_up_; }
  // For work that was left out elsewhere.
  void give_up() { gave_up_ = true; }
  // Whether work was left out since this was last asked.
  bool take_gave_up() { return std::exchange(gave_up_, false); }
  // Whether work was left out in `work`, a function without arguments.
  template <class Work>
  bool gives_up_in(Work&& work) {
    const bool before = take_gave_up();
    work();
    return std::exchange(gave_up_, gave_up_ || before);
  }
  // Whether what `work` found is final: it left nothing out and relied on no unfinished answer.
  template <class Work>
  bool is_final_after(Work&& work) {
    const uint32_t relied_before = std::exchange(relied_on_, UINT32_MAX);
    const bool gave_up = gives_up_in(work);
    const bool relied = relied_on_ != UINT32_MAX;
    relied_on_ = std::min(relied_on_, relied_before);
    return !gave_up && !relied;
  }
  // Grants steps for what follows.
  void renew() { n_steps_ = 0; }
  // Grants them where nothing is being judged, for work that a reader asks for.
  void renew_if_idle() {
    if (depth_ == 0) renew();
  }
  // Counts work beside judgements: a step for eight atoms that are looked at. False: it ran out,
  // and what is being found is to be left as it is.
  bool spend(size_t n_atoms) {
    n_steps_ += 1 + n_atoms / 8;
    gave_up_ = gave_up_ || n_steps_ > max_steps_;
    return n_steps_ <= max_steps_;
  }

 private:
  template <class Key>
  friend class JudgementsOf;
  template <class Value>
  friend class Kept;
  uint64_t max_steps_;
  uint64_t n_steps_ = 0;
  uint32_t depth_ = 0;
  uint32_t relied_on_ = UINT32_MAX;  // the lowest depth whose unfinished answer was used
  bool gave_up_ = false;
};

// What was found once and is kept, also where work was left out: asking for it again gives up
// again.
template <class Value>
class Kept {
 public:
  template <class Make>
  Kept(JudgementBudget& budget, Make&& make) {
    ++budget.depth_;  // what it asks for in turn shares its steps
    is_partial_ = budget.gives_up_in([&] { value_ = make(); });
    --budget.depth_;
  }
  const Value& get(JudgementBudget& budget) const {
    if (is_partial_) budget.give_up();
    return value_;
  }

 private:
  Value value_;
  bool is_partial_ = false;
};

template <class Key>
class JudgementsOf {
 public:
  explicit JudgementsOf(JudgementBudget& budget) : budget_(budget) {}

  // The known answer, or that of `judge`, a function without arguments.
  template <class Judge>
  bool operator()(Key key, Judge&& judge) {
    const auto known = known_.find(key);
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
    known_[key] = {.depth = depth};
    bool answer = false;
    const bool gave_up = budget_.gives_up_in([&] { answer = judge(); });
    --budget_.depth_;
    if (gave_up) {
      known_.erase(key);
      budget_.relied_on_ = std::min(budget_.relied_on_, relied_before);
      return true;
    }
    if (answer || budget_.relied_on_ >= depth) {
      known_[key] = {.answer = answer, .is_final = true};
      budget_.relied_on_ = relied_before;
    } else {
      known_.erase(key);
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
  std::unordered_map<Key, Known> known_;
};

using Judgements = JudgementsOf<Formula>;

}  // namespace ruv
