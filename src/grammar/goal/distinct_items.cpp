// All "no two items are equal" of a formula are one atom, so a formula is two: what is asked where
// items differ, and where two are equal. For the first, items are chosen one by one; only the
// goals that can run out have their values tried, and one of each kind. For the
// second, the goals of two items have a value in common.
#include "grammar/goal/distinct_items.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_set>

namespace ruv {
namespace {

// Formulas that a walk may meet.
constexpr size_t kMaxMet = 500;

uint64_t pair_of(Formula formula, Goal goal) {
  return uint64_t{static_cast<uint32_t>(formula)} << 32 | static_cast<uint32_t>(goal);
}

}  // namespace

DistinctItems::DistinctItems(ArraySteps& arrays, Formulas& goals, JudgementBudget& budget,
                             ArraySteps::Satisfiable satisfiable, ArraySteps::ListValues list)
    : arrays_(arrays),
      goals_(goals),
      budget_(budget),
      satisfiable_(std::move(satisfiable)),
      list_(std::move(list)),
      differ_(budget),
      meets_(budget),
      repeats_(budget) {}

bool DistinctItems::is_seen(Goal seen, Goal constant) const {
  if (goals_.kind(seen) != Formulas::Kind::any) return seen == constant;
  const std::span<const Formula> all = goals_.children(seen);
  return std::ranges::find(all, constant) != all.end();
}

bool DistinctItems::overlap(Goal a, Goal b) { return satisfiable_(goals_.all_of(a, b)); }

Goal DistinctItems::with(Goal seen, Goal constant) { return goals_.any_of(seen, constant); }

bool DistinctItems::satisfiable(Formula formula, Goal seen) {
  if (arrays_.may_end(formula)) return true;
  return can_differ(arrays_.where_distinct(formula, true), seen) ||
         can_repeat(arrays_.where_distinct(formula, false), seen);
}

// A value that no other item asks for is never worse than one that some do.
Goal DistinctItems::values_before(Formula next, Goal value, Goal seen) {
  if (arrays_.may_end(next)) return value;
  const Formula different = arrays_.where_distinct(next, true);
  Goal made = Goal::no;
  if (can_differ(different, seen)) {
    std::vector<Goal> parts = {value};
    if (spare(different, seen, 1) != Spare::yes) {
      for (const Goal rival : rivals(different)) {
        if (is_seen(seen, rival) || !overlap(rival, value)) continue;
        if (!can_differ(different, with(seen, rival))) parts.push_back(goals_.negation(rival));
      }
    }
    made = goals_.all_of(parts);
  }
  if (made == value) return value;
  const Formula equal = arrays_.where_distinct(next, false);
  if (can_repeat(equal, seen)) return value;
  return goals_.any_of(made, goals_.all_of(value, reachable_values(equal)));
}

bool DistinctItems::can_differ(Formula formula, Goal seen) {
  if (formula == Formula::no || !arrays_.satisfiable(formula)) return false;
  if (arrays_.may_end(formula)) return true;
  return differ_(pair_of(formula, seen), [&] {
    const Spare quick = spare(formula, seen, 0);
    return quick == Spare::unknown ? search_different(formula, seen) : quick == Spare::yes;
  });
}

// Where every goal has as many values as there are items, each item finds one.
DistinctItems::Spare DistinctItems::spare(Formula formula, Goal seen, size_t n_more) {
  const std::optional<ArraySteps::Row> row = arrays_.row(formula);
  if (!row) return Spare::unknown;
  for (const Goal goal : row->goals) {
    const auto values = list_(goal);
    if (!values) continue;
    const auto n = static_cast<size_t>(
        std::ranges::count_if(*values, [&](Goal one) { return !is_seen(seen, one); }));
    if (n < row->n_items + n_more) return row->is_uniform ? Spare::no : Spare::unknown;
  }
  return Spare::yes;
}

bool DistinctItems::search_different(Formula formula, Goal seen) {
  for (const GoalStep& step : arrays_.find_steps(formula, Goal::no)) {
    if (step.next == formula || !satisfiable_(step.value)) continue;
    const auto values = list_(step.value);
    if (!values) {
      if (can_differ(step.next, seen)) return true;
      continue;
    }
    const std::vector<Goal> asked = arrays_.goals_of(step.next);
    std::set<std::vector<bool>> tried;
    for (const Goal one : *values) {
      if (is_seen(seen, one)) continue;
      std::vector<bool> kind;
      for (const Goal goal : asked) kind.push_back(overlap(one, goal));
      if (!tried.insert(std::move(kind)).second) continue;
      if (can_differ(step.next, with(seen, one))) return true;
    }
  }
  return false;
}

bool DistinctItems::can_repeat(Formula formula, Goal seen) {
  return formula != Formula::no && (meets(formula, seen) || repeats_later(formula));
}

bool DistinctItems::meets(Formula formula, Goal goal) {
  if (goal == Goal::no) return false;
  return meets_(pair_of(formula, goal), [&] {
    const std::vector<GoalStep> steps = arrays_.find_steps(formula, Goal::no);
    return std::ranges::any_of(steps,
                               [&](const GoalStep& step) { return overlap(step.value, goal); }) ||
           std::ranges::any_of(steps, [&](const GoalStep& step) {
             return step.next != formula && satisfiable_(step.value) && meets(step.next, goal);
           });
  });
}

bool DistinctItems::repeats_later(Formula formula) {
  return repeats_(formula, [&] {
    const std::vector<GoalStep> steps = arrays_.find_steps(formula, Goal::no);
    return std::ranges::any_of(steps, [&](const GoalStep& step) {
      return satisfiable_(step.value) &&
             (meets(step.next, step.value) || (step.next != formula && repeats_later(step.next)));
    });
  });
}

void DistinctItems::walk(Formula formula, const std::function<void(const GoalStep&)>& visit,
                         bool past_ends) {
  std::unordered_set<Formula> met = {formula};
  std::vector<Formula> open = {formula};
  while (!open.empty()) {
    const Formula at = open.back();
    open.pop_back();
    if (!past_ends && arrays_.may_end(at)) continue;
    if (met.size() > kMaxMet || !budget_.spend(0)) return budget_.give_up();
    for (const GoalStep& step : arrays_.find_steps(at, Goal::no)) {
      if (!satisfiable_(step.value)) continue;
      visit(step);
      if (met.insert(step.next).second) open.push_back(step.next);
    }
  }
}

Goal DistinctItems::reachable_values(Formula formula) {
  std::vector<Goal> parts;
  walk(
      formula, [&](const GoalStep& step) { parts.push_back(step.value); }, true);
  return goals_.any_of(parts);
}

std::vector<Goal> DistinctItems::rivals(Formula formula) {
  std::vector<Goal> made;
  walk(
      formula,
      [&](const GoalStep& step) {
        if (const auto values = list_(step.value)) {
          made.insert(made.end(), values->begin(), values->end());
        }
      },
      false);
  std::ranges::sort(made);
  made.erase(std::unique(made.begin(), made.end()), made.end());
  return made;
}

}  // namespace ruv
