#include "grammar/goal/shape.h"

#include <algorithm>
#include <array>

#include "grammar/json/number_language.h"

namespace ruv {
namespace {

Truth negated(Truth a) {
  if (a == Truth::unknown) return a;
  return a == Truth::yes ? Truth::no : Truth::yes;
}

Truth truth_of_all(std::span<const Truth> parts) {
  if (std::ranges::find(parts, Truth::no) != parts.end()) return Truth::no;
  return std::ranges::find(parts, Truth::unknown) != parts.end() ? Truth::unknown : Truth::yes;
}

Truth truth_of_any(std::span<const Truth> parts) {
  if (std::ranges::find(parts, Truth::yes) != parts.end()) return Truth::yes;
  return std::ranges::find(parts, Truth::unknown) != parts.end() ? Truth::unknown : Truth::no;
}

Truth truth_of_one(std::span<const Truth> parts) {
  const auto n = std::ranges::count(parts, Truth::yes);
  if (n > 1) return Truth::no;
  if (std::ranges::find(parts, Truth::unknown) != parts.end()) return Truth::unknown;
  return n == 1 ? Truth::yes : Truth::no;
}

// One field of all shapes.
template <class Field>
auto column(std::span<const ValueShape> parts, Field ValueShape::*field) {
  std::vector<Field> made;
  made.reserve(parts.size());
  for (const ValueShape& part : parts) made.push_back(part.*field);
  return made;
}

template <class Field>
auto number_column(std::span<const ValueShape> parts, Field NumberSet::*field) {
  std::vector<Field> made;
  made.reserve(parts.size());
  for (const ValueShape& part : parts) made.push_back(part.numbers.*field);
  return made;
}

bool is_true_in_all(std::span<const ValueShape> parts, bool ValueShape::*field) {
  return std::ranges::all_of(parts, [&](const ValueShape& part) { return part.*field; });
}
bool is_true_in_any(std::span<const ValueShape> parts, bool ValueShape::*field) {
  return std::ranges::any_of(parts, [&](const ValueShape& part) { return part.*field; });
}
bool is_true_in_one(std::span<const ValueShape> parts, bool ValueShape::*field) {
  return std::ranges::count_if(parts, [&](const ValueShape& part) { return part.*field; }) == 1;
}

}  // namespace

ShapeAlgebra::ShapeAlgebra(Languages& languages, const JsonText& text, Formulas& objects,
                           Formulas& arrays)
    : l_(languages), text_(text), objects_(objects), arrays_(arrays) {
  plain_ = plain_number(l_);
  const Language minus_zero = l_.text("-0");
  const Language zeros = l_.concat(l_.text("."), l_.repeat(l_.text("0"), 1, Languages::kUnlimited));
  // Numbers with an exponent, and minus zero. Exponents have two digits at most, since most readers
  // of JSON cannot hold larger numbers.
  const Language letter = l_.byte_of(ByteSet::of('e') | ByteSet::of('E'));
  const Language sign = l_.byte_of(ByteSet::of('+') | ByteSet::of('-'));
  const Language exponent = l_.concat(
      std::array{letter, l_.optional(sign), l_.repeat(l_.byte_of(ByteSet::of('0', '9')), 1, 2)});
  const Language mantissa = l_.any_of(plain_, l_.concat(minus_zero, l_.optional(zeros)));
  others_ = l_.any_of(l_.concat(mantissa, exponent), l_.concat(minus_zero, l_.optional(zeros)));
  everything_ = {.null = true,
                 .off = true,
                 .on = true,
                 .numbers = {plain_, Language::nothing, Truth::yes},
                 .strings = text_.any_string(),
                 .objects = Formula::yes,
                 .arrays = Formula::yes};
  nothing_ = {};
  nothing_.numbers.no = plain_;
}

NumberSet ShapeAlgebra::numbers(Language yes, Truth others) {
  return {yes, yes == plain_ ? Language::nothing : l_.but(plain_, yes), others};
}

// All strings are of any_string(), so it limits nothing.
Language ShapeAlgebra::strings_of_all(std::vector<Language> parts) {
  std::erase(parts, text_.any_string());
  return parts.empty() ? text_.any_string() : l_.all_of(parts);
}

ValueShape ShapeAlgebra::all_of(std::span<const ValueShape> parts) {
  if (parts.size() == 1) return parts[0];
  return {.null = is_true_in_all(parts, &ValueShape::null),
          .off = is_true_in_all(parts, &ValueShape::off),
          .on = is_true_in_all(parts, &ValueShape::on),
          .numbers = {l_.all_of(number_column(parts, &NumberSet::yes)),
                      l_.any_of(number_column(parts, &NumberSet::no)),
                      truth_of_all(number_column(parts, &NumberSet::others))},
          .strings = strings_of_all(column(parts, &ValueShape::strings)),
          .objects = objects_.all_of(column(parts, &ValueShape::objects)),
          .arrays = arrays_.all_of(column(parts, &ValueShape::arrays))};
}

// A plain number is known not to be of a union if it is known not to be of each part.
ValueShape ShapeAlgebra::any_of(std::span<const ValueShape> parts) {
  if (parts.size() == 1) return parts[0];
  if (parts.empty()) return nothing_;
  return {.null = is_true_in_any(parts, &ValueShape::null),
          .off = is_true_in_any(parts, &ValueShape::off),
          .on = is_true_in_any(parts, &ValueShape::on),
          .numbers = {l_.any_of(number_column(parts, &NumberSet::yes)),
                      l_.all_of(number_column(parts, &NumberSet::no)),
                      truth_of_any(number_column(parts, &NumberSet::others))},
          .strings = l_.any_of(column(parts, &ValueShape::strings)),
          .objects = objects_.any_of(column(parts, &ValueShape::objects)),
          .arrays = arrays_.any_of(column(parts, &ValueShape::arrays))};
}

// Texts of one part only. Found from the first part on: texts of exactly one so far, and of more.
Language ShapeAlgebra::one_of(std::span<const Language> parts) {
  Language one = Language::nothing;
  Language more = Language::nothing;
  for (const Language part : parts) {
    if (part == Language::nothing) continue;
    if (one == Language::nothing && more == Language::nothing) {
      one = part;
      continue;
    }
    more = l_.any_of(more, l_.all_of(one, part));
    one = l_.any_of(one, part);  // and not of `more`, which is taken away at the end
  }
  return l_.is_nothing(more) ? one : l_.but(one, more);
}

// `yes` is known to be of exactly one part so far, `no` of none. What is known to be of two leaves
// `yes`, since it is not of the next part's `no`.
NumberSet ShapeAlgebra::one_of(std::span<const NumberSet> parts) {
  std::vector<Truth> others;
  for (const NumberSet& part : parts) others.push_back(part.others);
  NumberSet sum = {Language::nothing, plain_, truth_of_one(others)};
  Language two = Language::nothing;
  for (const NumberSet& part : parts) {
    const Language both = l_.all_of(sum.yes, part.yes);
    if (!l_.is_nothing(both)) two = l_.any_of(two, both);
    sum.yes = l_.any_of(l_.all_of(sum.yes, part.no), l_.all_of(sum.no, part.yes));
    sum.no = l_.all_of(sum.no, part.no);
  }
  sum.no = l_.any_of(sum.no, two);
  return sum;
}

ValueShape ShapeAlgebra::one_of(std::span<const ValueShape> parts) {
  if (parts.size() == 1) return parts[0];
  return {.null = is_true_in_one(parts, &ValueShape::null),
          .off = is_true_in_one(parts, &ValueShape::off),
          .on = is_true_in_one(parts, &ValueShape::on),
          .numbers = one_of(column(parts, &ValueShape::numbers)),
          .strings = one_of(column(parts, &ValueShape::strings)),
          .objects = objects_.one_of(column(parts, &ValueShape::objects)),
          .arrays = arrays_.one_of(column(parts, &ValueShape::arrays))};
}

// Strings are the only texts whose complement is taken among strings.
ValueShape ShapeAlgebra::negation(const ValueShape& shape) {
  Language strings = text_.any_string();
  if (shape.strings == strings) {
    strings = Language::nothing;
  } else if (shape.strings != Language::nothing) {
    strings = l_.but(strings, shape.strings);
  }
  return {.null = !shape.null,
          .off = !shape.off,
          .on = !shape.on,
          .numbers = {shape.numbers.no, shape.numbers.yes, negated(shape.numbers.others)},
          .strings = strings,
          .objects = objects_.negation(shape.objects),
          .arrays = arrays_.negation(shape.arrays)};
}

// One language, so that all scalar values are read as one.
Language ShapeAlgebra::scalars(const ValueShape& shape) {
  std::vector<Language> parts;
  if (shape.null) parts.push_back(l_.text("null"));
  if (shape.off) parts.push_back(l_.text("false"));
  if (shape.on) parts.push_back(l_.text("true"));
  parts.push_back(shape.numbers.yes);
  if (shape.numbers.others == Truth::yes) parts.push_back(others_);
  if (shape.strings != Language::nothing) {
    const Language quote = l_.text("\"");
    parts.push_back(l_.concat(std::array{quote, shape.strings, quote}));
  }
  return l_.any_of(parts);
}

}  // namespace ruv
