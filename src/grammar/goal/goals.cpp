#include "grammar/goal/goals.h"

#include <array>
#include <map>

#include "grammar/json/number_language.h"

namespace ruv {
namespace {

// Characters from which on a limit of length is kept apart from its language.
constexpr uint32_t kManyCharacters = 16;
constexpr size_t kMaxGoals = size_t{1} << 20;
// Schemas that a shape may be made of, one inside another.
constexpr uint32_t kMaxShapeDepth = 200;

// Equal values have one text: numbers by their value, members by their keys' order. Recursion is as
// deep as the value, which the reader of JSON bounds.
std::string identity_text(const Json& value) {
  if (value.is_array()) {
    std::string made = "[";
    for (const Json& item : value) made += identity_text(item) + ",";
    return made + "]";
  }
  if (value.is_object()) {
    std::map<std::string, std::string> members;
    for (const auto& [key, member] : value.items()) {
      members.emplace(Json(key).dump(), identity_text(member));
    }
    std::string made = "{";
    for (const auto& [key, member] : members) made += key + ":" + member + ",";
    return made + "}";
  }
  if (!value.is_number()) return value.dump();
  const auto decimal = Decimal::parse(value.dump());
  if (!decimal) return value.dump();
  const bool is_negative = decimal->negative && !decimal->is_zero();
  return (is_negative ? "-" : "") + decimal->whole + "." + decimal->fraction;
}

}  // namespace

Goals::Goals(Languages& languages, JsonText& text)
    : l_(languages),
      text_(text),
      formulas_(kMaxGoals),
      budget_(kMaxSteps),
      keys_(languages, text),
      objects_(languages, keys_, formulas_, budget_, [this](Goal g) { return satisfiable(g); }),
      arrays_(
          formulas_, budget_, [this](Goal g) { return satisfiable(g); },
          [this](Goal g) { return list_values(g); }),
      lists_(
          languages, objects_, arrays_, budget_,
          [this](Goal g) -> const ValueShape& { return shape(g); },
          [this](Goal seen, const Json& value) { return formulas_.any_of(seen, constant(value)); }),
      algebra_(languages, text, objects_.formulas(), arrays_.formulas()),
      judgements_(budget_) {}

// One goal for each schema and each constant, so that equal ones are one formula.
Goal Goals::schema(uint32_t number) {
  const auto [at, is_new] = schemas_.emplace(number, Goal::no);
  if (is_new) {
    at->second = formulas_.atom(static_cast<uint32_t>(leaves_.size()));
    leaves_.push_back({.is_constant = false, .index = number});
  }
  return at->second;
}

Goal Goals::constant(const Json& value) {
  const auto [at, is_new] = constant_ids_.emplace(identity_text(value), Goal::no);
  if (is_new) {
    at->second = formulas_.atom(static_cast<uint32_t>(leaves_.size()));
    leaves_.push_back({.is_constant = true, .index = static_cast<uint32_t>(constants_.size())});
    constants_.push_back(value);
  }
  return at->second;
}

// A number is written as its shortest text. Other texts of an equal number are neither of the set
// nor of its complement, and nor is anything where it has too many digits.
NumberSet Goals::equal_numbers(const Json& value) {
  const auto decimal = Decimal::parse(value.dump());
  if (!decimal) return {Language::nothing, Language::nothing, Truth::unknown};
  std::string plain = decimal->negative && !decimal->is_zero() ? "-" : "";
  plain += decimal->whole;
  if (!decimal->fraction.empty()) plain += "." + decimal->fraction;
  const Language zero = l_.text("0");
  const Language zeros =
      decimal->is_integer()
          ? l_.optional(l_.concat(l_.text("."), l_.repeat(zero, 1, Languages::kUnlimited)))
          : l_.star(zero);
  const Language equal = l_.concat(l_.text(plain), zeros);
  NumberSet made = algebra_.numbers(equal, Truth::unknown);
  made.yes = l_.text(plain);
  return made;
}

// Objects and arrays are asked for each of their parts, and for no others.
ValueShape Goals::constant_shape(const Json& value) {
  ValueShape made = algebra_.nothing();
  switch (value.kind()) {
    case Json::Kind::null:
      made.null = true;
      break;
    case Json::Kind::boolean:
      (value.get<bool>() ? made.on : made.off) = true;
      break;
    case Json::Kind::integer:
    case Json::Kind::unsigned_integer:
    case Json::Kind::real:
    case Json::Kind::big_integer:
      made.numbers = equal_numbers(value);
      break;
    case Json::Kind::string:
      made.strings = text_.string(value.text());
      break;
    case Json::Kind::array: {
      std::vector<Formula> parts;
      uint32_t place = 0;
      for (const Json& item : value) {
        parts.push_back(arrays_.each(place, place + 1, constant(item)));
        ++place;
      }
      parts.push_back(arrays_.at_least(0, ArraySteps::kEnd, Goal::yes, place));
      parts.push_back(arrays_.each(place, ArraySteps::kEnd, Goal::no));
      made.arrays = arrays_.formulas().all_of(parts);
      break;
    }
    case Json::Kind::object: {
      std::vector<Formula> parts;
      std::vector<KeyName> names;
      for (const auto& [key, member] : value.items()) {
        const KeyName name = keys_.name(key);
        names.push_back(name);
        parts.push_back(objects_.at_least(keys_.one(name), constant(member), 1));
      }
      parts.push_back(objects_.each(keys_.others(std::move(names), {}), Goal::no));
      made.objects = objects_.formulas().all_of(parts);
      break;
    }
  }
  return made;
}

// Recursion is as deep as schemas apply to one value, which the reader checked for circles.
const ValueShape& Goals::shape(Goal goal) {
  const auto at = shapes_.find(goal);
  if (at != shapes_.end()) return at->second->get(budget_);
  if (depth_ >= kMaxShapeDepth) {
    budget_.give_up();
    return algebra_.nothing();
  }
  ++depth_;
  auto made = std::make_unique<Kept<ValueShape>>(budget_, [&] { return make_shape(goal); });
  --depth_;
  return shapes_.emplace(goal, std::move(made)).first->second->get(budget_);
}

ValueShape Goals::leaf_shape(uint32_t atom) {
  const Leaf leaf = leaves_[atom];
  return leaf.is_constant ? constant_shape(Json(constants_[leaf.index]))
                          : source_->shape_of(leaf.index);
}

ValueShape Goals::make_shape(Goal goal) {
  switch (formulas_.kind(goal)) {
    case Formulas::Kind::no:
      return algebra_.nothing();
    case Formulas::Kind::yes:
      return algebra_.everything();
    case Formulas::Kind::atom:
      return leaf_shape(formulas_.atom_of(goal));
    case Formulas::Kind::negation:
      return algebra_.negation(shape(formulas_.inner(goal)));
    case Formulas::Kind::all:
    case Formulas::Kind::any:
    case Formulas::Kind::one:
      break;
  }
  const std::span<const Formula> span = formulas_.children(goal);
  const std::vector<Formula> children(span.begin(), span.end());
  std::vector<ValueShape> parts;
  for (const Formula child : children) parts.push_back(shape(child));
  switch (formulas_.kind(goal)) {
    case Formulas::Kind::all:
      return algebra_.all_of(parts);
    case Formulas::Kind::any:
      return algebra_.any_of(parts);
    default:
      return algebra_.one_of(parts);
  }
}

const Goals::Start& Goals::start(Goal goal) {
  const auto at = starts_.find(goal);
  if (at != starts_.end()) return at->second->get(budget_);
  budget_.renew_if_idle();
  auto made = std::make_unique<Kept<Start>>(budget_, [&] { return make_start(goal); });
  return starts_.emplace(goal, std::move(made)).first->second->get(budget_);
}

// Nothing where the language has few states anyway.
std::optional<Goals::StringLength> Goals::length_of(Language strings) const {
  const auto run = l_.repetition_of(strings);
  if (!run || run->part != text_.character() || run->rest != Language::empty) return std::nullopt;
  const bool is_long = run->min > kManyCharacters ||
                       (run->max != Languages::kUnlimited && run->max > kManyCharacters);
  if (!is_long) return std::nullopt;
  return StringLength{run->min, run->max};
}

Goals::Start Goals::make_start(Goal goal) {
  const ValueShape& whole = shape(goal);
  Start made = {.scalars = algebra_.scalars(whole), .length = length_of(whole.strings)};
  if (made.length) {
    ValueShape others = whole;
    others.strings = Language::nothing;
    made.others = algebra_.scalars(others);
  }
  if (objects_.satisfiable(whole.objects)) made.objects = whole.objects;
  if (arrays_.satisfiable(whole.arrays)) made.arrays = whole.arrays;
  return made;
}

bool Goals::satisfiable(Goal goal) {
  if (goal == Goal::yes || goal == Goal::no) return goal == Goal::yes;
  return judgements_(goal, [&] { return judge_shape(shape(goal)); });
}

// Scalars first: they need no search through other goals.
bool Goals::judge_shape(const ValueShape& shape) {
  if (shape.null || shape.on || shape.off || shape.numbers.others == Truth::yes) return true;
  if (!l_.is_nothing(shape.strings) || !l_.is_nothing(shape.numbers.yes)) return true;
  return arrays_.satisfiable(shape.arrays) || objects_.satisfiable(shape.objects);
}

std::optional<std::vector<Goal>> Goals::list_values(Goal goal) {
  const ValueLists::Values values = lists_.list(goal);
  if (!values) return std::nullopt;
  std::vector<Goal> made;
  for (const Json& value : *values) made.push_back(constant(value));
  return made;
}

bool Goals::overflowed() {
  return l_.overflowed() || formulas_.overflowed() || objects_.formulas().overflowed() ||
         arrays_.formulas().overflowed();
}

}  // namespace ruv
