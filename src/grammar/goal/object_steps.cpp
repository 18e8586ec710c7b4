// Most formulas are conjunctions of two kinds of parts: "each member of this key has a value of
// this goal" and "at least one member of this key". A member of the key takes both away and its
// value must be of the goal; nothing has to be searched. Other parts (disjunctions, upper bounds)
// are stepped by substitution, one goal that matters after the other, true and false.
#include "grammar/goal/object_steps.h"

#include <algorithm>
#include <array>

namespace ruv {
namespace {

// Alternatives that one step may have, and sets of keys that a formula may tell apart.
constexpr size_t kMaxBranches = 2000;
constexpr size_t kMaxCells = 64;

uint64_t atom_hash(uint32_t a, uint32_t b, uint32_t c) {
  uint64_t hash = (uint64_t{a} << 32 | b) * 0x9E3779B97F4A7C15;
  hash ^= hash >> 29;
  return (hash + c) * 0xD6E8FEB86659FD93;
}

}  // namespace

// Part of a conjunction: members of these keys have values of the goal.
struct ObjectSteps::Sorted {
  struct Part {
    KeySet keys;
    Goal goal;
    Formula formula;
  };
  std::vector<Formula> parts;
  std::vector<std::pair<KeyName, Part>> of_name;  // about one key, ascending
  std::vector<Part> each;                         // all members of other sets
  std::vector<Part> needs;                        // some members of other sets
  struct Hard {
    Formula formula;
    std::vector<uint32_t> atoms;
  };
  std::vector<Hard> hard;
  std::vector<KeyName> names;   // of keys that sets name
  std::vector<KeySet> generic;  // sets that are neither one key nor all
  std::vector<Cell> cells;
  bool runs_out = false;  // it matters that a name which came cannot come again

  // The parts about one key.
  std::span<const std::pair<KeyName, Part>> parts_of(KeyName name) const {
    const auto by_name = [](const auto& part) { return part.first; };
    const auto first = std::ranges::lower_bound(of_name, name, {}, by_name);
    const auto last = std::ranges::upper_bound(of_name, name, {}, by_name);
    return std::span(of_name).subspan(static_cast<size_t>(first - of_name.begin()),
                                      static_cast<size_t>(last - first));
  }
};

// A key of which all is known that matters: its name, or the cell it lies in.
struct ObjectSteps::Class {
  KeyName name = KeyName::other;
  const Cell* cell = nullptr;
};

// A step whose value decides. Goals are tried one after the other.
struct ObjectSteps::Branches {
  std::vector<uint32_t> atoms;  // that the key is about, ascending
  size_t n_atoms = 0;           // of the parts that are stepped
  std::vector<Goal> goals;      // distinct ones that are neither yes nor no
  Formula kept;                 // what the member does not change
  std::vector<Goal> chosen;
  std::vector<GoalStep> made;
  size_t n_tried = 0;
};

ObjectSteps::ObjectSteps(Languages& languages, KeySets& keys, Formulas& goals,
                         JudgementBudget& budget, Satisfiable satisfiable)
    : l_(languages),
      keys_(keys),
      goals_(goals),
      budget_(budget),
      satisfiable_(std::move(satisfiable)),
      formulas_(1 << 20),
      judgements_(budget) {}

ObjectSteps::~ObjectSteps() = default;

// Counts that cannot be reached are `no`, so that formulas stay small.
Formula ObjectSteps::at_least(KeySet keys, Goal goal, uint32_t n) {
  if (n == 0) return Formula::yes;
  const KeySets::Set& set = keys_[keys];
  if (goal == Goal::no || set.in == Language::nothing) return Formula::no;
  if (set.name != KeyName::other && n > 1) return Formula::no;
  const Atom atom = {keys, goal, n};
  const uint64_t hash = atom_hash(static_cast<uint32_t>(keys), static_cast<uint32_t>(goal), n);
  const auto [begin, end] = atom_ids_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (atoms_[at->second] == atom) return formulas_.atom(at->second);
  }
  const auto index = static_cast<uint32_t>(atoms_.size());
  atoms_.push_back(atom);
  atom_ids_.emplace(hash, index);
  return formulas_.atom(index);
}

Formula ObjectSteps::each(KeySet keys, Goal goal) {
  return formulas_.negation(at_least(keys, goals_.negation(goal), 1));
}

const ObjectSteps::Sorted& ObjectSteps::sorted(Formula formula) {
  const auto at = sorted_.find(formula);
  if (at != sorted_.end()) return at->second->get(budget_);
  auto made = std::make_unique<Kept<Sorted>>(budget_, [&] { return sort(formula); });
  budget_.spend(made->get(budget_).parts.size());
  return sorted_.emplace(formula, std::move(made)).first->second->get(budget_);
}

// Parts about one key are found by its name, parts about sets are looked through.
ObjectSteps::Sorted ObjectSteps::sort(Formula formula) {
  Sorted made;
  made.parts = formulas_.conjuncts(formula);
  std::vector<KeySet> sets;
  for (const Formula part : made.parts) {
    const bool is_negation = formulas_.kind(part) == Formulas::Kind::negation;
    const Formula inner = is_negation ? formulas_.inner(part) : part;
    const bool is_atom = formulas_.kind(inner) == Formulas::Kind::atom;
    if (!is_atom || (is_negation && atoms_[formulas_.atom_of(inner)].n > 1)) {
      made.hard.push_back({part, {}});
      formulas_.add_atoms(part, made.hard.back().atoms);
      for (const uint32_t atom : made.hard.back().atoms) sets.push_back(atoms_[atom].keys);
      continue;
    }
    const Atom atom = atoms_[formulas_.atom_of(inner)];
    const Sorted::Part sorted_part = {atom.keys,
                                      is_negation ? goals_.negation(atom.goal) : atom.goal, part};
    const KeyName name = keys_[atom.keys].name;
    if (name != KeyName::other) {
      made.of_name.emplace_back(name, sorted_part);
      made.names.push_back(name);
    } else {
      (is_negation ? made.each : made.needs).push_back(sorted_part);
      sets.push_back(atom.keys);
    }
  }
  std::ranges::sort(sets);
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  for (const KeySet set : sets) {
    const KeySets::Set& at = keys_[set];
    if (at.name != KeyName::other) {
      made.names.push_back(at.name);
    } else if (!at.is_all) {
      made.generic.push_back(set);
      made.names.insert(made.names.end(), at.few.begin(), at.few.end());
      made.runs_out = made.runs_out || at.few_in;
    }
  }
  made.runs_out = made.runs_out || !made.needs.empty() ||
                  std::ranges::any_of(made.hard, [&](const Sorted::Hard& part) {
                    return may_need_members(part.formula);
                  });
  std::ranges::stable_sort(made.of_name, {}, [](const auto& part) { return part.first; });
  std::ranges::sort(made.names);
  made.names.erase(std::unique(made.names.begin(), made.names.end()), made.names.end());
  find_cells(made);
  return made;
}

// Whether some part may ask for members whose keys are of a set of several. Parts below "exactly
// one" may be asked for either way.
bool ObjectSteps::may_need_members(Formula formula) const {
  enum : uint8_t { asked = 1, refused = 2 };
  std::vector<std::pair<Formula, uint8_t>> open = {{formula, asked}};
  std::unordered_map<Formula, uint8_t> seen;
  while (!open.empty()) {
    const auto [at, ways] = open.back();
    open.pop_back();
    uint8_t& known = seen[at];
    if ((known | ways) == known) continue;
    known |= ways;
    switch (formulas_.kind(at)) {
      case Formulas::Kind::no:
      case Formulas::Kind::yes:
        break;
      case Formulas::Kind::atom:
        if ((ways & asked) != 0 && keys_[atoms_[formulas_.atom_of(at)].keys].name == KeyName::other)
          return true;
        break;
      case Formulas::Kind::negation:
        open.emplace_back(formulas_.inner(at),
                          static_cast<uint8_t>(((ways & asked) << 1) | ((ways & refused) >> 1)));
        break;
      case Formulas::Kind::all:
      case Formulas::Kind::any:
        for (const Formula part : formulas_.children(at)) open.emplace_back(part, ways);
        break;
      case Formulas::Kind::one:
        for (const Formula part : formulas_.children(at)) {
          open.emplace_back(part, static_cast<uint8_t>(asked | refused));
        }
    }
  }
  return false;
}

// Splits all keys by each set in turn. Keys that are all named need no cell.
void ObjectSteps::find_cells(Sorted& made) {
  made.cells.push_back({keys_[KeySet::all].in, {}});
  for (const KeySet set : made.generic) {
    const KeySets::Set& by = keys_[set];
    std::vector<Cell> cells;
    for (const Cell& cell : made.cells) {
      for (const bool in : {true, false}) {
        if (in ? by.few_in : by.few_out) continue;
        const Language side = in ? by.in : by.out;
        const Language keys = cell.in.empty() ? side : l_.all_of(cell.keys, side);
        if (l_.is_nothing(keys)) continue;
        Cell part = {keys, cell.in};
        part.in.push_back(in);
        cells.push_back(std::move(part));
      }
    }
    if (cells.size() > kMaxCells) {
      cells.resize(kMaxCells);
      budget_.give_up();
    }
    made.cells = std::move(cells);
  }
}

// Whether a key belongs to a set: named keys are looked up, those of a cell were found with it.
bool ObjectSteps::is_in(const Sorted& of, KeySet set, const Class& key) {
  if (key.name != KeyName::other) return keys_.contains(set, key.name);
  if (keys_[set].is_all) return true;
  if (keys_[set].name != KeyName::other) return false;
  const auto at = std::ranges::lower_bound(of.generic, set);
  return key.cell->in[static_cast<size_t>(at - of.generic.begin())];
}

// What is left of an atom after a member that it is about. A key comes once, so an atom about one
// key is decided.
Formula ObjectSteps::step_atom(uint32_t index, bool is_satisfied) {
  const Atom atom = atoms_[index];
  if (is_satisfied) return at_least(atom.keys, atom.goal, atom.n - 1);
  return keys_[atom.keys].name != KeyName::other ? Formula::no : formulas_.atom(index);
}

const std::vector<GoalStep>& ObjectSteps::steps(Formula formula, KeyName name) {
  return steps(formula, {.name = name}, static_cast<uint32_t>(name));
}

const std::vector<GoalStep>& ObjectSteps::steps(Formula formula, uint32_t cell) {
  return steps(formula, {.cell = &sorted(formula).cells[cell]}, ~cell);
}

// Steps are kept by formula and key; `number` tells keys and cells apart.
const std::vector<GoalStep>& ObjectSteps::steps(Formula formula, const Class& key,
                                                uint32_t number) {
  const uint64_t id = uint64_t{static_cast<uint32_t>(formula)} << 32 | number;
  const auto known = steps_.find(id);
  if (known != steps_.end()) return known->second->get(budget_);
  budget_.renew_if_idle();
  auto made = std::make_unique<Kept<std::vector<GoalStep>>>(
      budget_, [&] { return find_steps(sorted(formula), key); });
  return steps_.emplace(id, std::move(made)).first->second->get(budget_);
}

std::vector<GoalStep> ObjectSteps::find_steps(Formula formula, KeyName name) {
  return find_steps(sorted(formula), {.name = name});
}

// Easy parts give their goals and go or stay; the others are substituted for each combination of
// values that matters.
std::vector<GoalStep> ObjectSteps::find_steps(const Sorted& of, const Class& key) {
  if (!budget_.spend(of.hard.size() + of.needs.size())) return {};
  std::vector<Goal> goals;
  std::vector<Formula> gone;
  for (const auto& [name, part] : of.parts_of(key.name)) {
    goals.push_back(part.goal);
    gone.push_back(part.formula);
  }
  for (const Sorted::Part& part : of.each) {
    if (is_in(of, part.keys, key)) goals.push_back(part.goal);
  }
  Branches branches;
  std::vector<Formula> stepped;
  const auto step = [&](Formula part, std::span<const uint32_t> atoms) {
    bool matters = false;
    for (const uint32_t index : atoms) {
      if (!is_in(of, atoms_[index].keys, key)) continue;
      matters = true;
      branches.atoms.push_back(index);
    }
    if (!matters) return;
    branches.n_atoms += atoms.size();
    stepped.push_back(part);
    gone.push_back(part);
  };
  for (const Sorted::Part& part : of.needs) {
    const uint32_t atom = formulas_.atom_of(part.formula);
    step(part.formula, std::span(&atom, 1));
  }
  for (const Sorted::Hard& part : of.hard) step(part.formula, part.atoms);

  std::ranges::sort(gone);
  std::vector<Formula> kept;
  kept.reserve(of.parts.size() + 1);
  for (const Formula part : of.parts) {
    if (!std::ranges::binary_search(gone, part)) kept.push_back(part);
  }
  if (of.runs_out && key.name != KeyName::other) {
    kept.push_back(each(keys_.one(key.name), Goal::no));
  }
  branches.kept = formulas_.all_of(kept);
  const Goal all = goals_.all_of(goals);
  branches.chosen = {all};
  std::ranges::sort(branches.atoms);
  for (const uint32_t atom : branches.atoms) {
    if (atoms_[atom].goal != Goal::yes) branches.goals.push_back(atoms_[atom].goal);
  }
  std::ranges::sort(branches.goals);
  branches.goals.erase(std::unique(branches.goals.begin(), branches.goals.end()),
                       branches.goals.end());
  // Atoms that every value satisfies come first.
  Formula rest = formulas_.substitute(formulas_.all_of(stepped), [&](uint32_t index) {
    const bool is_certain =
        atoms_[index].goal == Goal::yes && std::ranges::binary_search(branches.atoms, index);
    return is_certain ? step_atom(index, true) : formulas_.atom(index);
  });
  if (!satisfiable_(all)) return {};
  branch(branches, rest, 0);
  if (!stepped.empty()) {
    std::erase_if(branches.made, [&](const GoalStep& s) { return !satisfiable(s.next); });
  }
  return std::move(branches.made);
}

// Tries the goal number `at` true and false. Steps that leave the same formula become one.
void ObjectSteps::branch(Branches& b, Formula rest, size_t at) {
  if (rest == Formula::no) return;
  if (++b.n_tried > kMaxBranches) return budget_.give_up();
  if (!budget_.spend(2 * b.n_atoms)) return;
  if (at == b.goals.size()) {
    const Formula next = formulas_.all_of(b.kept, rest);
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
      const bool matters = atoms_[index].goal == goal && std::ranges::binary_search(b.atoms, index);
      return matters ? step_atom(index, is_satisfied) : formulas_.atom(index);
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

// As steps() not being empty, found without them where no hard part is about the key: taking a
// member away from an object that satisfies the formula then leaves one that satisfies the rest.
bool ObjectSteps::may_come(const Sorted& of, const Class& key) {
  if (!budget_.spend(of.hard.size())) return false;
  const bool is_hard = std::ranges::any_of(of.hard, [&](const Sorted::Hard& part) {
    return std::ranges::any_of(part.atoms,
                               [&](uint32_t atom) { return is_in(of, atoms_[atom].keys, key); });
  });
  if (is_hard) return !find_steps(of, key).empty();
  std::vector<Goal> goals;
  for (const auto& [name, part] : of.parts_of(key.name)) goals.push_back(part.goal);
  for (const Sorted::Part& part : of.each) {
    if (is_in(of, part.keys, key)) goals.push_back(part.goal);
  }
  return satisfiable_(goals_.all_of(goals));
}

bool ObjectSteps::ends(Formula formula) {
  return formulas_.holds(formula, [](uint32_t) { return false; });
}

// Found once for each formula.
const ObjectSteps::Plan& ObjectSteps::plan(Formula formula) {
  const auto known = plans_.find(formula);
  if (known != plans_.end()) return known->second->get(budget_);
  budget_.renew_if_idle();
  auto made = std::make_unique<Kept<Plan>>(budget_, [&] { return make_plan(formula); });
  return plans_.emplace(formula, std::move(made)).first->second->get(budget_);
}

ObjectSteps::Plan ObjectSteps::make_plan(Formula formula) {
  Plan made;
  made.may_end = ends(formula);
  const Sorted& of = sorted(formula);
  for (uint32_t i = 0; i < of.cells.size(); ++i) {
    if (!may_come(of, {.cell = &of.cells[i]})) continue;
    made.open.push_back({keys_.quoted(of.cells[i].keys), i});
  }
  std::vector<Language> named;
  std::vector<Language> all;
  for (const KeyName name : of.names) {
    all.push_back(keys_.quoted(name));
    if (!may_come(of, {.name = name})) continue;
    named.push_back(all.back());
    made.names.push_back(name);
  }
  made.named = l_.any_of(named);
  made.all_names = l_.any_of(all);
  return made;
}

bool ObjectSteps::satisfiable(Formula formula) {
  return formula != Formula::no && judgements_(formula, [&] { return judge(formula); });
}

// An object that does not satisfy the formula as it is needs a member that changes a part which
// does not hold yet. Which one comes first does not matter, since members have no order.
bool ObjectSteps::judge(Formula formula) {
  if (ends(formula)) return true;
  const Sorted& of = sorted(formula);
  if (of.hard.empty() && meets_needs(of)) return true;
  for (const Formula part : of.parts) {
    if (ends(part)) continue;
    std::vector<uint32_t> atoms;
    formulas_.add_atoms(part, atoms);
    const auto helps = [&](const Class& key) {
      const bool matters = std::ranges::any_of(
          atoms, [&](uint32_t atom) { return is_in(of, atoms_[atom].keys, key); });
      if (!matters) return false;
      return std::ranges::any_of(find_steps(of, key), [&](const GoalStep& step) {
        return step.next != formula && satisfiable_(step.value) && satisfiable(step.next);
      });
    };
    return std::ranges::any_of(of.names, [&](KeyName name) { return helps({.name = name}); }) ||
           std::ranges::any_of(of.cells, [&](const Cell& cell) { return helps({.cell = &cell}); });
  }
  return true;
}

// Without hard parts: whether each need has a key of its own whose value can satisfy it, found
// without search. False: perhaps not.
bool ObjectSteps::meets_needs(const Sorted& of) {
  const auto accepts = [&](const Class& key, Goal goal) {
    std::vector<Goal> goals = {goal};
    for (const Sorted::Part& part : of.each) {
      if (is_in(of, part.keys, key)) goals.push_back(part.goal);
    }
    for (const auto& [name, part] : of.parts_of(key.name)) goals.push_back(part.goal);
    return satisfiable_(goals_.all_of(goals));
  };
  for (const auto& [name, part] : of.of_name) {
    if (formulas_.kind(part.formula) == Formulas::Kind::negation) continue;
    if (!accepts({.name = name}, part.goal)) return false;
  }
  for (const Sorted::Part& part : of.needs) {
    const bool met = std::ranges::any_of(of.cells, [&](const Cell& cell) {
      return l_.longest(cell.keys) == Languages::kUnlimited &&
             is_in(of, part.keys, {.cell = &cell}) && accepts({.cell = &cell}, part.goal);
    });
    if (!met) return false;
  }
  return true;
}

}  // namespace ruv
