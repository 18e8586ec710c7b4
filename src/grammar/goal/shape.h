// ValueShape: what is asked of a JSON value, type by type. Scalars are languages; what is asked of
// objects and arrays is a formula over their members and items (object_steps.h, array_steps.h).
//
// Shapes are closed under and, or, not, and "exactly one", each type by itself. Nothing is
// approximated but numbers whose spelling does not tell their value by an automaton (exponents, a
// fraction of zeros where an integer is asked for): whether these belong to a set may be unknown.
// They are then never written, and stay unknown in the complement.
#pragma once

#include "grammar/goal/formula.h"
#include "grammar/json/json_text.h"

namespace ruv {

enum class Truth : uint8_t { no, yes, unknown };

struct NumberSet {
  Language yes = Language::nothing;  // plain numbers that belong to it
  Language no = Language::nothing;   // plain numbers that do not
  Truth others = Truth::no;          // whether those with exponents, and -0, do
};

struct ValueShape {
  bool null = false;
  bool off = false;  // the value false
  bool on = false;   // the value true
  NumberSet numbers = {};
  Language strings = Language::nothing;  // what is between the quotes
  Formula objects = Formula::no;         // atoms of ObjectSteps
  Formula arrays = Formula::no;          // atoms of ArraySteps
};

// The operations on shapes. References must outlive the object.
class ShapeAlgebra {
 public:
  ShapeAlgebra(Languages& languages, const JsonText& text, Formulas& objects, Formulas& arrays);

  // The shapes of all values, and of none.
  const ValueShape& everything() const { return everything_; }
  const ValueShape& nothing() const { return nothing_; }
  // Values that are of all parts, of at least one, of exactly one; and all others.
  ValueShape all_of(std::span<const ValueShape> parts);
  ValueShape any_of(std::span<const ValueShape> parts);
  ValueShape one_of(std::span<const ValueShape> parts);
  ValueShape negation(const ValueShape& shape);

  // Plain numbers of a set where `no` is what `yes` leaves out.
  NumberSet numbers(Language yes, Truth others);
  // What is of all parts, which are languages of strings.
  Language strings_of_all(std::vector<Language> parts);
  // All scalar values of a shape as they are written.
  Language scalars(const ValueShape& shape);

 private:
  Language one_of(std::span<const Language> parts);
  NumberSet one_of(std::span<const NumberSet> parts);

  Languages& l_;
  const JsonText& text_;
  Formulas& objects_;
  Formulas& arrays_;
  Language plain_;
  Language others_;  // numbers that are not plain
  ValueShape everything_;
  ValueShape nothing_;
};

}  // namespace ruv
