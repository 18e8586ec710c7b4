// DistinctItems: whether an array can be completed where its items must all differ, or must not. A
// goal with few values runs out of them; one that has no end of them can always give a value that
// matters to no other item.
#pragma once

#include "grammar/goal/array_steps.h"

namespace ruv {

class DistinctItems {
 public:
  // References must outlive the object.
  DistinctItems(ArraySteps& arrays, Formulas& goals, JudgementBudget& budget,
                ArraySteps::Satisfiable satisfiable, ArraySteps::ListValues list);

  // Whether an array whose items so far are `seen` can be completed as the formula asks.
  bool satisfiable(Formula formula, Goal seen);
  // The values of a goal after which an array can be completed so.
  Goal values_before(Formula next, Goal value, Goal seen);

 private:
  using Pairs = JudgementsOf<uint64_t>;  // by a formula and a goal
  // Formulas that do not speak of distinct items themselves:
  // Whether the items that follow can differ from each other and from those seen.
  bool can_differ(Formula formula, Goal seen);
  bool search_different(Formula formula, Goal seen);
  // Whether each goal of a row has `n_more` values to spare.
  enum class Spare : uint8_t { no, yes, unknown };
  Spare spare(Formula formula, Goal seen, size_t n_more);
  // Whether an item that follows can be equal to another one or to one of those seen; of a goal;
  // equal to another one that follows.
  bool can_repeat(Formula formula, Goal seen);
  bool meets(Formula formula, Goal goal);
  bool repeats_later(Formula formula);
  // What some item that follows can be of.
  Goal reachable_values(Formula formula);
  // Values that goals run out of which come up on the way.
  std::vector<Goal> rivals(Formula formula);
  // Calls `visit` for the steps of all formulas that are met on the way, each once.
  void walk(Formula formula, const std::function<void(const GoalStep&)>& visit, bool past_ends);

  bool is_seen(Goal seen, Goal constant) const;
  bool overlap(Goal a, Goal b);
  Goal with(Goal seen, Goal constant);

  ArraySteps& arrays_;
  Formulas& goals_;
  JudgementBudget& budget_;
  ArraySteps::Satisfiable satisfiable_;
  ArraySteps::ListValues list_;
  Pairs differ_;
  Pairs meets_;
  Judgements repeats_;
};

}  // namespace ruv
