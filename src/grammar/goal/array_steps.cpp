#include "grammar/goal/array_steps.h"

#include <algorithm>
#include <array>

#include "grammar/goal/distinct_items.h"

namespace ruv {
namespace {

constexpr size_t kMaxItemBranches = 2000;

uint64_t item_atom_hash(uint32_t from, uint32_t to, uint32_t goal, uint32_t n) {
  uint64_t hash = (uint64_t{from} << 32 | to) * 0x9E3779B97F4A7C15;
  hash ^= hash >> 29;
  return (hash + (uint64_t{goal} << 32 | n)) * 0xD6E8FEB86659FD93;
}

}  // namespace

// An item whose value decides.
struct ArraySteps::Branches {
  Goal seen;                     // the values that came
  Formula kept = Formula::yes;   // what the item's value does not change
  std::vector<Goal> goals = {};  // distinct ones that are neither yes nor no
  std::vector<Goal> chosen = {};
  std::vector<GoalStep> made = {};
  size_t n_atoms = 0;
  size_t n_tried = 0;
};

ArraySteps::ArraySteps(Formulas& goals, JudgementBudget& budget, Satisfiable satisfiable,
                       ListValues list_values)
    : goals_(goals),
      budget_(budget),
      satisfiable_(std::move(satisfiable)),
      formulas_(1 << 20),
      judgements_(budget),
      distinct_items_(std::make_unique<DistinctItems>(*this, goals, budget, satisfiable_,
                                                      std::move(list_values))) {}

ArraySteps::~ArraySteps() = default;

// The number of an atom, which is made if there is none yet.
Formula ArraySteps::intern(const Atom& atom) {
  const uint64_t hash =
      item_atom_hash(atom.from, atom.to, static_cast<uint32_t>(atom.goal), atom.n);
  const auto [begin, end] = atom_ids_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (atoms_[at->second] == atom) return formulas_.atom(at->second);
  }
  const auto index = static_cast<uint32_t>(atoms_.size());
  atoms_.push_back(atom);
  atom_ids_.emplace(hash, index);
  return formulas_.atom(index);
}

Formula ArraySteps::at_least(uint32_t from, uint32_t to, Goal goal, uint32_t n) {
  if (n == 0) return Formula::yes;
  if (goal == Goal::no || from >= to || (to != kEnd && to - from < n)) return Formula::no;
  return intern({from, to, goal, n});
}

Formula ArraySteps::each(uint32_t from, uint32_t to, Goal goal) {
  return formulas_.negation(at_least(from, to, goals_.negation(goal), 1));
}

Formula ArraySteps::distinct() { return intern({0, kEnd, Goal::yes, 0}); }

// An atom as seen from the next place.
Formula ArraySteps::moved(uint32_t index) {
  Atom atom = atoms_[index];
  if (atom.n == 0) return formulas_.atom(index);
  if (atom.from > 0) --atom.from;
  if (atom.to != kEnd) --atom.to;
  return at_least(atom.from, atom.to, atom.goal, atom.n);
}

// What is left of an atom after an item that it is about.
Formula ArraySteps::step_atom(uint32_t index, bool is_satisfied) {
  const Atom& atom = atoms_[index];
  if (atom.n == 0) return is_satisfied ? Formula::no : formulas_.atom(index);
  return is_satisfied ? at_least(atom.from, atom.to, atom.goal, atom.n - 1) : formulas_.atom(index);
}

// All counts that are still asked are missed; distinct items stay distinct.
bool ArraySteps::may_end(Formula formula) {
  return formulas_.holds(formula, [&](uint32_t index) { return atoms_[index].n == 0; });
}

bool ArraySteps::asks_distinct(Formula formula) {
  std::vector<uint32_t> atoms;
  formulas_.add_atoms(formula, atoms);
  return std::ranges::any_of(atoms, [&](uint32_t index) { return atoms_[index].n == 0; });
}

bool ArraySteps::is_distinct(Formula formula) const {
  return std::ranges::any_of(formulas_.conjuncts(formula), [&](Formula part) {
    return formulas_.kind(part) == Formulas::Kind::atom && atoms_[formulas_.atom_of(part)].n == 0;
  });
}

// "Each item" parts ask for their goal and move on; the others are stepped.
std::vector<GoalStep> ArraySteps::find_steps(Formula formula, Goal seen) {
  Branches branches = {.seen = seen};
  std::vector<Formula> kept;
  std::vector<Formula> stepped;
  for (const Formula part : formulas_.conjuncts(formula)) {
    const Atom* each = each_atom(part);
    if (each == nullptr) {
      stepped.push_back(part);
      continue;
    }
    if (each->from == 0) branches.chosen.push_back(goals_.negation(each->goal));
    kept.push_back(part);
  }
  if (!satisfiable_(goals_.all_of(branches.chosen))) return {};
  branches.kept =
      formulas_.substitute(formulas_.all_of(kept), [&](uint32_t index) { return moved(index); });
  Formula rest = formulas_.all_of(stepped);
  std::vector<uint32_t> atoms;
  formulas_.add_atoms(rest, atoms);
  branches.n_atoms = atoms.size();
  for (const uint32_t index : atoms) {
    const Goal goal = goal_of(index, seen);
    if (goal != Goal::yes && goal != Goal::no) branches.goals.push_back(goal);
  }
  std::ranges::sort(branches.goals);
  branches.goals.erase(std::unique(branches.goals.begin(), branches.goals.end()),
                       branches.goals.end());
  // Atoms that every value satisfies come first.
  rest = formulas_.substitute(rest, [&](uint32_t index) {
    return goal_of(index, seen) == Goal::yes ? step_atom(index, true) : formulas_.atom(index);
  });
  branch(branches, rest, 0);
  std::erase_if(branches.made, [&](GoalStep& s) {
    if (!asks_distinct(s.next)) return s.next != formula && !satisfiable(s.next);
    s.value = distinct_items_->values_before(s.next, s.value, seen);
    return !satisfiable_(s.value);
  });
  return std::move(branches.made);
}

const std::vector<GoalStep>& ArraySteps::steps(Formula formula, Goal seen) {
  const uint64_t id = uint64_t{static_cast<uint32_t>(formula)} << 32 | static_cast<uint32_t>(seen);
  const auto known = steps_.find(id);
  if (known != steps_.end()) return known->second->get(budget_);
  budget_.renew_if_idle();
  auto made = std::make_unique<Kept<std::vector<GoalStep>>>(
      budget_, [&] { return find_steps(formula, seen); });
  return steps_.emplace(id, std::move(made)).first->second->get(budget_);
}

// The atom that "each item is" is the negation of.
const ArraySteps::Atom* ArraySteps::each_atom(Formula part) const {
  if (formulas_.kind(part) != Formulas::Kind::negation) return nullptr;
  const Formula inner = formulas_.inner(part);
  if (formulas_.kind(inner) != Formulas::Kind::atom) return nullptr;
  const Atom& atom = atoms_[formulas_.atom_of(inner)];
  return atom.n == 1 ? &atom : nullptr;
}

// What the next item must be of to satisfy the atom; `no` where it cannot matter.
Goal ArraySteps::goal_of(uint32_t index, Goal seen) const {
  const Atom& atom = atoms_[index];
  if (atom.n == 0) return seen;
  return atom.from == 0 ? atom.goal : Goal::no;
}

// Tries the goal number `at` true and false, as ObjectSteps does.
void ArraySteps::branch(Branches& b, Formula rest, size_t at) {
  if (rest == Formula::no) return;
  if (++b.n_tried > kMaxItemBranches) return budget_.give_up();
  if (!budget_.spend(2 * b.n_atoms)) return;
  if (at == b.goals.size()) {
    const Formula next = formulas_.all_of(
        b.kept, formulas_.substitute(rest, [&](uint32_t index) { return moved(index); }));
    const Goal value = goals_.all_of(b.chosen);
    if (next == Formula::no) return;
    for (GoalStep& step : b.made) {
      if (step.next != next) continue;
      step.value = goals_.any_of(step.value, value);
      return;
    }
    b.made.push_back({next, value});
    return;
  }
  const Goal goal = b.goals[at];
  const auto choose = [&](bool is_satisfied) {
    return formulas_.substitute(rest, [&](uint32_t index) {
      return goal_of(index, b.seen) == goal ? step_atom(index, is_satisfied)
                                            : formulas_.atom(index);
    });
  };
  const std::array<Formula, 2> rests = {choose(false), choose(true)};
  if (rests[0] == rests[1]) return branch(b, rests[0], at + 1);
  for (const bool is_satisfied : {true, false}) {
    const Formula next = rests[is_satisfied ? 1 : 0];
    if (next == Formula::no) continue;
    b.chosen.push_back(is_satisfied ? goal : goals_.negation(goal));
    if (satisfiable_(goals_.all_of(b.chosen))) branch(b, next, at + 1);
    b.chosen.pop_back();
  }
}

bool ArraySteps::satisfiable(Formula formula) {
  return formula != Formula::no && judgements_(formula, [&] { return judge(formula); });
}

// Items come in order, so the first one is tried.
bool ArraySteps::judge(Formula formula) {
  if (may_end(formula)) return true;
  if (asks_distinct(formula)) return distinct_items_->satisfiable(formula, Goal::no);
  const Quick quick = judge_quickly(formula);
  if (quick != Quick::unknown) return quick == Quick::yes;
  const auto leads_on = [&](const GoalStep& step) {
    return step.next != formula && satisfiable_(step.value) && satisfiable(step.next);
  };
  return std::ranges::any_of(find_steps(formula, Goal::no), leads_on);
}

// Nothing: the formula says other things, too.
std::optional<ArraySteps::Counts> ArraySteps::counts(Formula formula) {
  Counts made;
  for (const Formula part : formulas_.conjuncts(formula)) {
    const bool is_negation = formulas_.kind(part) == Formulas::Kind::negation;
    const Formula inner = is_negation ? formulas_.inner(part) : part;
    if (formulas_.kind(inner) != Formulas::Kind::atom) return std::nullopt;
    Atom atom = atoms_[formulas_.atom_of(inner)];
    if (atom.n == 0) return std::nullopt;
    if (is_negation && atom.n == 1) {
      atom.goal = goals_.negation(atom.goal);
      made.eaches.push_back(atom);
    } else if (!atom.counts_all()) {
      return std::nullopt;
    } else if (atom.goal == Goal::yes) {
      is_negation ? made.most = std::min<uint64_t>(made.most, atom.n - 1)
                  : made.least = std::max<uint64_t>(made.least, atom.n);
    } else if (is_negation) {
      return std::nullopt;
    } else {
      made.needs.push_back(atom);
    }
  }
  return made;
}

// Goals begin and end in the order of places, so each is met twice.
void ArraySteps::each_place(std::vector<Atom> eaches, const VisitPlace& visit) {
  std::vector<uint32_t> places = {0};
  for (const Atom& atom : eaches) {
    places.push_back(atom.from);
    if (atom.to != kEnd) places.push_back(atom.to);
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::ranges::stable_sort(eaches, {}, &Atom::from);
  std::vector<Atom> here;
  size_t n_begun = 0;
  for (const uint32_t place : places) {
    std::erase_if(here, [&](const Atom& atom) { return atom.to <= place; });
    for (; n_begun < eaches.size() && eaches[n_begun].from <= place; ++n_begun) {
      here.push_back(eaches[n_begun]);
    }
    std::vector<Goal> goals;
    for (const Atom& atom : here) goals.push_back(atom.goal);
    if (!visit(place, goals)) return;
  }
}

// How many items there can be, how many there must be, and whether items without an end can be of
// the goals that some must be of.
ArraySteps::Quick ArraySteps::judge_quickly(Formula formula) {
  std::optional<Counts> of = counts(formula);
  if (!of) return Quick::unknown;
  const uint64_t least = of->least;
  uint64_t most = of->most;
  std::vector<Goal> last;
  each_place(of->eaches, [&](uint32_t place, const std::vector<Goal>& goals) {
    last = goals;
    if (place >= most || (place >= least && of->needs.empty())) return false;
    if (satisfiable_(goals_.all_of(goals))) return true;
    most = place;
    return false;
  });
  if (least > most) return Quick::no;
  if (of->needs.empty()) return Quick::yes;
  if (most != kEnd) return Quick::unknown;
  for (const Atom& need : of->needs) {  // `last` are the goals of items without end
    last.push_back(need.goal);
    const bool met = satisfiable_(goals_.all_of(last));
    last.pop_back();
    if (!met) return Quick::unknown;
  }
  return Quick::yes;
}

// Items that are needed come after all places where goals change.
std::optional<ArraySteps::Row> ArraySteps::row(Formula formula) {
  std::optional<Counts> of = counts(formula);
  if (!of || (!of->needs.empty() && of->most != kEnd)) return std::nullopt;
  Row made = {.goals = {}, .n_items = static_cast<size_t>(of->least)};
  std::vector<Goal> last;
  each_place(of->eaches, [&](uint32_t place, const std::vector<Goal>& goals) {
    if (place >= of->least && of->needs.empty()) return false;
    made.goals.push_back(goals_.all_of(goals));
    made.n_items = std::max<size_t>(made.n_items, place);
    last = goals;
    return true;
  });
  made.is_uniform = of->needs.empty() && made.goals.size() == 1;
  for (const Atom& need : of->needs) {
    last.push_back(need.goal);
    made.goals.push_back(goals_.all_of(last));
    last.pop_back();
    made.n_items += need.n;
  }
  return made;
}

std::vector<Goal> ArraySteps::goals_of(Formula formula) const {
  std::vector<uint32_t> atoms;
  formulas_.add_atoms(formula, atoms);
  std::vector<Goal> made;
  for (const uint32_t index : atoms) made.push_back(atoms_[index].goal);
  std::ranges::sort(made);
  made.erase(std::unique(made.begin(), made.end()), made.end());
  return made;
}

Formula ArraySteps::where_distinct(Formula formula, bool are_distinct) {
  return formulas_.substitute(formula, [&](uint32_t index) {
    if (atoms_[index].n != 0) return formulas_.atom(index);
    return are_distinct ? Formula::yes : Formula::no;
  });
}

}  // namespace ruv
