#include "grammar/form/key_choices.h"

namespace ruv {

const std::vector<KeyChoices::Keys>& KeyChoices::find(Goals& goals, Formula formula, Language came,
                                                      Language named) {
  for (const Kept& kept : kept_) {
    if (kept.is_used && kept.formula == formula && kept.came == came && kept.named == named) {
      return kept.keys;
    }
  }
  Kept& kept = kept_[oldest_];
  oldest_ = (oldest_ + 1) % kept_.size();
  kept = {formula, came, named, true, make(goals, formula, came, named)};
  return kept.keys;
}

// Named keys are one language, the keys of each cell another: what follows a key of a cell does not
// depend on which one it is.
std::vector<KeyChoices::Keys> KeyChoices::make(Goals& goals, Formula formula, Language came,
                                               Language named) {
  std::vector<Keys> made;
  Languages& l = goals.languages();
  const auto add = [&](Language keys, uint32_t cell) {
    if (!l.is_nothing(keys)) made.push_back({keys, cell});
  };
  add(l.but(named, came), 0);
  const ObjectSteps::Plan& plan = goals.objects().plan(formula);
  if (plan.open.empty()) return made;
  const Language left_out = l.any_of(came, plan.all_names);
  for (const ObjectSteps::Plan::Open& open : plan.open) {
    add(l.but(open.keys, left_out), open.cell + 1);
  }
  return made;
}

}  // namespace ruv
