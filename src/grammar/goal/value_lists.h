// ValueLists: the values of goals that have only few. Where no two items of an array may be equal,
// such goals run out.
#pragma once

#include <functional>
#include <optional>
#include <unordered_set>

#include "base/json.h"
#include "grammar/goal/array_steps.h"
#include "grammar/goal/object_steps.h"
#include "grammar/goal/shape.h"

namespace ruv {

class ValueLists {
 public:
  // Goals with more values count as having no end of them.
  static constexpr size_t kMaxValues = 256;
  using Values = std::optional<std::vector<Json>>;
  using ShapeOf = std::function<const ValueShape&(Goal)>;
  // The goal of values that came, with one more.
  using SeenWith = std::function<Goal(Goal seen, const Json& value)>;

  // References must outlive the object.
  ValueLists(Languages& languages, ObjectSteps& objects, ArraySteps& arrays,
             JudgementBudget& budget, ShapeOf shape_of, SeenWith seen_with);

  // All values of a goal, each once; nothing where there are too many, or it takes too much work to
  // list them.
  Values list(Goal goal);

 private:
  Values list_shape(const ValueShape& shape);
  // Adds to `values`. False: too many.
  bool add_texts(Language language, bool are_strings, std::vector<Json>& values);
  bool add_arrays(Formula formula, std::vector<Json>& values);
  bool add_objects(Formula formula, std::vector<Json>& values);

  Languages& l_;
  ObjectSteps& objects_;
  ArraySteps& arrays_;
  JudgementBudget& budget_;
  ShapeOf shape_of_;
  SeenWith seen_with_;
  // One text for each value.
  Language canonical_strings_;
  Language canonical_numbers_;
  std::unordered_map<Goal, Values> known_;
  std::unordered_set<Goal> open_;  // that are being listed
};

}  // namespace ruv
