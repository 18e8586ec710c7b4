// ArraySteps: what is still asked of an array, item by item, as ObjectSteps does for members. The
// atoms are "at least n of the items from one place to another are of a goal", with places counted
// from the next item, and "no two items are equal". After an item all places move one down, so
// an array of equal items keeps one formula however long it grows.
//
// Not thread-safe: an owner locks.
#pragma once

#include "grammar/goal/object_steps.h"

namespace ruv {

class ArraySteps {
 public:
  static constexpr uint32_t kEnd = UINT32_MAX;  // of all items
  using Satisfiable = ObjectSteps::Satisfiable;
  // References must outlive the object.
  ArraySteps(Formulas& goals, JudgementBudget& budget, Satisfiable satisfiable);

  Formulas& formulas() { return formulas_; }
  // At least n of the items with places from <= place < to are of the goal.
  Formula at_least(uint32_t from, uint32_t to, Goal goal, uint32_t n);
  // All of them are.
  Formula each(uint32_t from, uint32_t to, Goal goal);
  // No two items are equal.
  Formula distinct();

  // What the next item may be of, and what is asked after it. `seen`: the values that came, which
  // matter where asks_distinct(formula).
  const std::vector<GoalStep>& steps(Formula formula, Goal seen);
  bool may_end(Formula formula);
  // Whether values that come must be remembered.
  bool asks_distinct(Formula formula);
  // Whether some array is left that satisfies the formula. Takes no account of how many different
  // values there are.
  bool satisfiable(Formula formula);

 private:
  struct Atom {
    uint32_t from;
    uint32_t to;
    Goal goal;
    uint32_t n;  // 0: no two items are equal
    bool operator==(const Atom&) const = default;
    bool counts_all() const { return from == 0 && to == kEnd; }
  };
  struct Branches;

  Formula intern(const Atom& atom);
  // What steps() keeps.
  std::vector<GoalStep> find_steps(Formula formula, Goal seen);
  const Atom* each_atom(Formula part) const;
  Goal goal_of(uint32_t index, Goal seen) const;
  // The atom after an item that it is not about, and after one that it is about.
  Formula moved(uint32_t index);
  Formula step_atom(uint32_t index, bool is_satisfied);
  void branch(Branches& branches, Formula rest, size_t at);
  bool judge(Formula formula);
  // The answer where it needs no search.
  enum class Quick : uint8_t { no, yes, unknown };
  Quick judge_quickly(Formula formula);

  Formulas& goals_;
  JudgementBudget& budget_;
  Satisfiable satisfiable_;
  Formulas formulas_;
  std::vector<Atom> atoms_;
  std::unordered_multimap<uint64_t, uint32_t> atom_ids_;
  std::unordered_map<uint64_t, std::unique_ptr<Kept<std::vector<GoalStep>>>> steps_;  // by both
  Judgements judgements_;
};

}  // namespace ruv
