// ArraySteps: what is still asked of an array, item by item, as ObjectSteps does for members. The
// atoms are "at least n of the items from one place to another are of a goal", with places counted
// from the next item, and "no two items are equal". After an item all places move one down, so
// an array of equal items keeps one formula however long it grows.
//
// Not thread-safe: an owner locks.
#pragma once

#include <optional>

#include "grammar/goal/object_steps.h"

namespace ruv {

class DistinctItems;

class ArraySteps {
 public:
  static constexpr uint32_t kEnd = UINT32_MAX;  // of all items
  using Satisfiable = ObjectSteps::Satisfiable;
  // All values of a goal as constants; nothing where there are too many to tell them apart.
  using ListValues = std::function<std::optional<std::vector<Goal>>(Goal)>;
  // References must outlive the object.
  ArraySteps(Formulas& goals, JudgementBudget& budget, Satisfiable satisfiable,
             ListValues list_values);
  ~ArraySteps();

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
  // Whether no two items may be equal, whatever else is asked.
  bool is_distinct(Formula formula) const;
  // The same as steps(), found anew: what is kept must not rely on judgements that are not
  // finished.
  std::vector<GoalStep> find_steps(Formula formula, Goal seen);
  // Whether some array is left that satisfies the formula, where no values came.
  bool satisfiable(Formula formula);

  // What is asked where no two items are equal, and where that is not so. No part of either asks
  // for distinct items.
  Formula where_distinct(Formula formula, bool are_distinct);
  // Goals of the items that come next, and how many items are enough for an array to end. Nothing
  // where more is asked than goals by place and a number of items.
  struct Row {
    std::vector<Goal> goals;
    size_t n_items = 0;
    bool is_uniform = false;  // all items are of one goal, and no fewer are enough
  };
  std::optional<Row> row(Formula formula);
  // All goals that a formula asks for.
  std::vector<Goal> goals_of(Formula formula) const;

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
  // A conjunction of goals by place, of numbers of items that are of a goal, and of all items.
  struct Counts {
    std::vector<Atom> eaches;  // with the goal that items are of
    std::vector<Atom> needs;
    uint64_t least = 0;
    uint64_t most = kEnd;
  };
  std::optional<Counts> counts(Formula formula);
  // Calls `visit` with the places where goals change, and the goals there, until it returns false.
  using VisitPlace = std::function<bool(uint32_t place, const std::vector<Goal>& goals)>;
  void each_place(std::vector<Atom> eaches, const VisitPlace& visit);

  Formulas& goals_;
  JudgementBudget& budget_;
  Satisfiable satisfiable_;
  Formulas formulas_;
  std::vector<Atom> atoms_;
  std::unordered_multimap<uint64_t, uint32_t> atom_ids_;
  std::unordered_map<uint64_t, std::unique_ptr<Kept<std::vector<GoalStep>>>> steps_;  // by both
  Judgements judgements_;
  std::unique_ptr<DistinctItems> distinct_items_;
};

}  // namespace ruv
