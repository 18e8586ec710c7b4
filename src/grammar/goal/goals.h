// Goals: what is asked of JSON values. A goal is a formula over leaves: schemas, read elsewhere,
// and constants. Its shape is found when a value of it may begin, and kept.
//
// Not thread-safe: an owner locks.
#pragma once

#include <memory>
#include <optional>

#include "base/json.h"
#include "grammar/goal/array_steps.h"
#include "grammar/goal/object_steps.h"
#include "grammar/goal/shape.h"
#include "grammar/goal/value_lists.h"

namespace ruv {

class Goals {
 public:
  // Steps that one call of judge() may take: some 100 ns each.
  static constexpr uint64_t kMaxSteps = 400'000;

  // The shape of a schema, by its number.
  class Source {
   public:
    virtual ~Source() = default;
    virtual ValueShape shape_of(uint32_t schema) = 0;
  };
  // References must outlive the object.
  Goals(Languages& languages, JsonText& text);

  void set_source(Source* source) { source_ = source; }

  // A value of the schema with this number, which the source knows.
  Goal schema(uint32_t number);
  // Exactly this value, however it is written.
  Goal constant(const Json& value);
  Goal negation(Goal goal) { return formulas_.negation(goal); }
  Goal all_of(std::span<const Goal> goals) { return formulas_.all_of(goals); }
  Goal any_of(std::span<const Goal> goals) { return formulas_.any_of(goals); }

  // Found when it is first asked for. Valid as long as the object.
  const ValueShape& shape(Goal goal);
  // What constant() asks for.
  ValueShape constant_shape(const Json& value);
  // Characters of a string; max may be Languages::kUnlimited.
  struct StringLength {
    uint32_t min;
    uint32_t max;
  };
  // How a value of the goal may begin.
  struct Start {
    Language scalars = Language::nothing;  // whole values that are neither objects nor arrays
    // Strings of which only the number of characters is asked, and many of them; `others` are the
    // scalars without them.
    std::optional<StringLength> length;
    Language others = Language::nothing;
    Formula objects = Formula::no;  // `no` where no object can be of the goal
    Formula arrays = Formula::no;
  };
  const Start& start(Goal goal);
  // Whether there is a value of the goal, found with at most kMaxSteps steps; else the answer is
  // yes and take_gave_up() will be true.
  bool satisfiable(Goal goal);
  // As satisfiable, with new steps.
  bool judge(Goal goal) {
    budget_.renew();
    return satisfiable(goal);
  }
  // Whether work was left out since this was last asked: what was found may then have no end.
  bool take_gave_up() { return budget_.take_gave_up(); }
  void give_up() { budget_.give_up(); }
  // Whether an expression had no room; what was made since must not be used.
  bool overflowed();

  Languages& languages() { return l_; }
  JsonText& text() { return text_; }
  KeySets& keys() { return keys_; }
  ShapeAlgebra& algebra() { return algebra_; }
  ObjectSteps& objects() { return objects_; }
  ArraySteps& arrays() { return arrays_; }

 private:
  struct Leaf {
    bool is_constant = false;
    uint32_t index = 0;  // of the schema, or into constants_
  };
  ValueShape make_shape(Goal goal);
  std::optional<StringLength> length_of(Language strings) const;
  Start make_start(Goal goal);
  ValueShape leaf_shape(uint32_t atom);
  bool judge_shape(const ValueShape& shape);
  std::optional<std::vector<Goal>> list_values(Goal goal);
  NumberSet equal_numbers(const Json& value);

  Languages& l_;
  JsonText& text_;
  Source* source_ = nullptr;
  Formulas formulas_;
  JudgementBudget budget_;
  KeySets keys_;
  ObjectSteps objects_;
  ArraySteps arrays_;
  ValueLists lists_;
  ShapeAlgebra algebra_;
  Judgements judgements_;
  std::vector<Leaf> leaves_;
  std::vector<Json> constants_;
  std::unordered_map<uint32_t, Goal> schemas_;
  std::unordered_map<std::string, Goal> constant_ids_;  // by identity_text()
  std::unordered_map<Goal, std::unique_ptr<Kept<ValueShape>>> shapes_;
  std::unordered_map<Goal, std::unique_ptr<Kept<Start>>> starts_;
  uint32_t depth_ = 0;  // of shapes that are being made
};

}  // namespace ruv
