// ObjectSteps: what is still asked of an object, member by member.
//
// All that schemas say of objects is said with one kind of atom: "at least n members whose key is
// in a set have a value of a goal". `required` is such an atom, `properties` the negation of one
// ("no member of this key has a value that is not of the goal"), `maxProperties` too. A member
// takes one off the counts that it satisfies, so what is left to ask after it is a formula again,
// and the state of an object is that formula. Where an atom that matters is left open by the key,
// the member's value decides: a step is one of the formulas that may be left, with the goal of
// values that lead to it. Formulas and goals that nothing satisfies are left out, so an object that
// was begun can be finished.
//
// Not thread-safe: an owner locks.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "grammar/goal/formula.h"
#include "grammar/goal/judgement.h"
#include "grammar/goal/key_sets.h"

namespace ruv {

// A formula over schemas: what is asked of a value.
using Goal = Formula;

// What a value may be of, and what is still asked of its container after it.
struct GoalStep {
  Formula next;
  Goal value;
};

class ObjectSteps {
 public:
  // Whether some value is of a goal.
  using Satisfiable = std::function<bool(Goal)>;
  // References must outlive the object.
  ObjectSteps(Languages& languages, KeySets& keys, Formulas& goals, JudgementBudget& budget,
              Satisfiable satisfiable);
  ~ObjectSteps();

  Formulas& formulas() { return formulas_; }
  // At least n members whose key is in the set have a value of the goal.
  Formula at_least(KeySet keys, Goal goal, uint32_t n);
  // All members whose key is in the set have one.
  Formula each(KeySet keys, Goal goal);

  // What a member may be of, and what is asked after it: of a key by name, which the formula may or
  // may not mention, and of any key of a cell of plan(). None: the key cannot come. Requires: the
  // key did not come before.
  const std::vector<GoalStep>& steps(Formula formula, KeyName name);
  const std::vector<GoalStep>& steps(Formula formula, uint32_t cell);

  struct Plan {
    bool may_end = false;  // the object may end here
    // Keys that may come, but for those that came; all with their quotes.
    Language named = Language::nothing;  // the keys of `names`
    std::vector<KeyName> names;
    struct Open {
      Language keys;  // and `all_names`, which are meant to be left out
      uint32_t cell;
    };
    std::vector<Open> open;  // cells of other keys, of which the formula says the same
    Language all_names = Language::nothing;  // that the formula mentions
    bool may_go_on() const { return named != Language::nothing || !open.empty(); }
  };
  // Valid as long as the object.
  const Plan& plan(Formula formula);
  // The same, found anew: what is kept must not rely on judgements that are not finished.
  Plan make_plan(Formula formula);
  std::vector<GoalStep> find_steps(Formula formula, KeyName name);
  const KeySets& keys() const { return keys_; }

  // Whether some object is left that satisfies the formula.
  bool satisfiable(Formula formula);

 private:
  struct Atom {
    KeySet keys;
    Goal goal;
    uint32_t n;
    bool operator==(const Atom&) const = default;
  };
  // Keys of which the formula says the same, none of them named in it.
  struct Cell {
    Language keys;
    std::vector<bool> in;  // by generic set of the formula
  };
  // A formula, sorted by what its parts mean.
  struct Sorted;
  struct Class;
  struct Branches;

  // Sorted once and kept.
  const Sorted& sorted(Formula formula);
  Sorted sort(Formula formula);
  void find_cells(Sorted& made);
  bool may_need_members(Formula formula) const;
  bool is_in(const Sorted& of, KeySet set, const Class& key);
  std::vector<GoalStep> find_steps(const Sorted& of, const Class& key);
  const std::vector<GoalStep>& steps(Formula formula, const Class& key, uint32_t number);
  // Whether a member of this key may come next.
  bool may_come(const Sorted& of, const Class& key);
  void branch(Branches& branches, Formula rest, size_t at);
  Formula step_atom(uint32_t index, bool is_satisfied);
  // What satisfiable() keeps.
  bool judge(Formula formula);
  bool meets_needs(const Sorted& of);
  // Whether an object that gets no more members satisfies it.
  bool ends(Formula formula);

  Languages& l_;
  KeySets& keys_;
  Formulas& goals_;
  JudgementBudget& budget_;
  Satisfiable satisfiable_;
  Formulas formulas_;
  std::vector<Atom> atoms_;
  std::unordered_multimap<uint64_t, uint32_t> atom_ids_;
  std::unordered_map<Formula, std::unique_ptr<Kept<Sorted>>> sorted_;
  std::unordered_map<Formula, std::unique_ptr<Kept<Plan>>> plans_;
  std::unordered_map<uint64_t, std::unique_ptr<Kept<std::vector<GoalStep>>>> steps_;
  Judgements judgements_;
};

}  // namespace ruv
