#include "grammar/schema/schema_shapes.h"

#include <algorithm>
#include <array>

#include "grammar/json/number_language.h"

namespace ruv {

namespace {

// Schemas that the names of members may be held to, one applying the other.
constexpr uint32_t kMaxStringDepth = 200;

}  // namespace

Goal SchemaShapes::goal(SchemaNumber schema) {
  const SchemaNode& node = reader_.node(schema);
  if (node.is_never) return Goal::no;
  if (node.is_trivial) return Goal::yes;
  return goals_.schema(schema);
}

ValueShape SchemaShapes::both(const ValueShape& a, const ValueShape& b) {
  return goals_.algebra().all_of(std::array{a, b});
}
ValueShape SchemaShapes::either(const ValueShape& a, const ValueShape& b) {
  return goals_.algebra().any_of(std::array{a, b});
}

Formula SchemaShapes::has(KeyName name) {
  return goals_.objects().at_least(goals_.keys().one(name), Goal::yes, 1);
}

// Everything, of objects only what satisfies the formula.
ValueShape SchemaShapes::of_objects(Formula formula) {
  ValueShape made = goals_.algebra().everything();
  made.objects = formula;
  return made;
}

// All values of some types.
ValueShape SchemaShapes::typed(uint8_t types) {
  const ValueShape& everything = goals_.algebra().everything();
  if (types == kAllTypes) return everything;
  ValueShape made = goals_.algebra().nothing();
  made.null = (types & kNullType) != 0;
  made.on = made.off = (types & kBooleanType) != 0;
  if ((types & kNumberType) != 0) {
    made.numbers = everything.numbers;
  } else if ((types & kIntegerType) != 0) {
    // 1.0 is an integer that is never written.
    Languages& l = goals_.languages();
    const Language zeros = l.concat(l.text("."), l.repeat(l.text("0"), 1, Languages::kUnlimited));
    const Language integer = plain_integer(l);
    made.numbers = goals_.algebra().numbers(l.concat(integer, l.optional(zeros)), Truth::unknown);
    made.numbers.yes = integer;
  }
  if ((types & kStringType) != 0) made.strings = everything.strings;
  if ((types & kArrayType) != 0) made.arrays = Formula::yes;
  if ((types & kObjectType) != 0) made.objects = Formula::yes;
  return made;
}

// Each keyword is a part of a conjunction.
Formula SchemaShapes::members(const MemberKeywords& k) {
  ObjectSteps& o = goals_.objects();
  KeySets& keys = goals_.keys();
  std::vector<Formula> parts;
  std::vector<KeyName> names;
  std::vector<KeySet> sets;
  for (const auto& [name, schema] : k.properties) {
    parts.push_back(o.each(keys.one(name), goal(schema)));
    names.push_back(name);
  }
  for (const auto& [set, schema] : k.patterns) {
    parts.push_back(o.each(set, goal(schema)));
    sets.push_back(set);
  }
  if (k.additional != kNoSchema && goal(k.additional) != Goal::yes) {
    parts.push_back(o.each(keys.others(std::move(names), sets), goal(k.additional)));
  }
  if (k.names != kNoSchema) {
    const KeySet allowed = keys.of_language(string_shape(k.names).strings);
    parts.push_back(o.each(keys.complement(allowed), Goal::no));
  }
  for (const KeyName name : k.required) parts.push_back(has(name));
  if (k.min > 0) parts.push_back(o.at_least(KeySet::all, Goal::yes, k.min));
  if (k.max) parts.push_back(o.formulas().negation(o.at_least(KeySet::all, Goal::yes, *k.max + 1)));
  for (const auto& [trigger, required] : k.dependent_required) {
    std::vector<Formula> all;
    for (const KeyName name : required) all.push_back(has(name));
    parts.push_back(
        o.formulas().any_of(o.formulas().negation(has(trigger)), o.formulas().all_of(all)));
  }
  return o.formulas().all_of(parts);
}

// The same of arrays: prefixItems by place, items from there on.
Formula SchemaShapes::items(const ItemKeywords& k) {
  ArraySteps& a = goals_.arrays();
  std::vector<Formula> parts;
  uint32_t place = 0;
  for (const SchemaNumber schema : k.prefix) {
    parts.push_back(a.each(place, place + 1, goal(schema)));
    ++place;
  }
  if (k.rest != kNoSchema) parts.push_back(a.each(place, ArraySteps::kEnd, goal(k.rest)));
  if (k.contains != kNoSchema) {
    const Goal wanted = goal(k.contains);
    parts.push_back(a.at_least(0, ArraySteps::kEnd, wanted, k.min_contains));
    if (k.max_contains) {
      const Formula more = a.at_least(0, ArraySteps::kEnd, wanted, *k.max_contains + 1);
      parts.push_back(a.formulas().negation(more));
    }
  }
  if (k.min > 0) parts.push_back(a.at_least(0, ArraySteps::kEnd, Goal::yes, k.min));
  if (k.max) {
    const Formula more = a.at_least(0, ArraySteps::kEnd, Goal::yes, *k.max + 1);
    parts.push_back(a.formulas().negation(more));
  }
  if (k.unique) parts.push_back(a.distinct());
  return a.formulas().all_of(parts);
}

// Keywords of one type leave values of all others as they are.
ValueShape SchemaShapes::own_shape(const SchemaNode& node, uint8_t types) {
  ValueShape made = typed(node.types & types);
  std::vector<ValueShape> numbers;
  for (const NumberSet& set : node.numbers) {
    numbers.push_back(goals_.algebra().everything());
    numbers.back().numbers = set;
  }
  if (!numbers.empty()) {
    numbers.push_back(made);
    made.numbers = goals_.algebra().all_of(numbers).numbers;
  }
  if (made.strings != Language::nothing) {
    std::vector<Language> strings = node.strings;
    if (node.min_length > 0 || node.max_length) {
      strings.push_back(goals_.text().string_of_length(
          node.min_length, node.max_length.value_or(Languages::kUnlimited)));
    }
    strings.push_back(made.strings);
    made.strings = goals_.algebra().strings_of_all(std::move(strings));
  }
  if (made.objects != Formula::no) made.objects = members(node.members);
  if (made.arrays != Formula::no) made.arrays = items(node.items);
  if (node.has_values) {
    std::vector<ValueShape> values;
    for (const Json& value : node.values) values.push_back(goals_.constant_shape(value));
    made = both(made, goals_.algebra().any_of(values));
  }
  return made;
}

// Names of members may be held to the schema of the object itself, so only its strings are looked
// at. Schemas that apply each other to the same value are in no circle.
const ValueShape& SchemaShapes::string_shape(SchemaNumber schema) {
  const auto known = string_shapes_.find(schema);
  if (strings_are_cut_) goals_.give_up();
  if (known != string_shapes_.end()) return known->second;
  const SchemaNode& node = reader_.node(schema);
  ValueShape made = goals_.algebra().nothing();
  if (string_depth_ >= kMaxStringDepth) {
    strings_are_cut_ = true;
    goals_.give_up();
  } else if (!node.is_never) {
    ++string_depth_;
    made = combined(node, own_shape(node, kStringType),
                    [&](SchemaNumber part) { return string_shape(part); });
    --string_depth_;
  }
  return string_shapes_.emplace(schema, std::move(made)).first->second;
}

// The conjunction of its own keywords and of what it applies.
ValueShape SchemaShapes::shape_of(uint32_t schema) {
  const SchemaNode& node = reader_.node(schema);
  if (node.members.unevaluated != kNoSchema || node.items.unevaluated != kNoSchema) {
    std::vector<ValueShape> ways;
    for (const Variant& variant : variants(node, 0)) ways.push_back(evaluated(node, variant));
    return goals_.algebra().any_of(ways);
  }
  std::vector<ValueShape> parts = {
      combined(node, own_shape(node), [&](SchemaNumber part) { return applied(part); })};
  for (const auto& [trigger, part] : node.members.dependent_schemas) {
    const Formula absent = goals_.objects().formulas().negation(has(trigger));
    const Formula applies = applied(part).objects;
    parts.push_back(of_objects(goals_.objects().formulas().any_of(absent, applies)));
  }
  return goals_.algebra().all_of(parts);
}

// Each keyword that applies schemas to the value itself is a part of the conjunction.
ValueShape SchemaShapes::combined(const SchemaNode& node, ValueShape own, const Apply& applied) {
  std::vector<ValueShape> parts = {std::move(own)};
  const auto shapes = [&](const std::vector<SchemaNumber>& list) {
    std::vector<ValueShape> made;
    for (const SchemaNumber part : list) made.push_back(applied(part));
    return made;
  };
  for (const SchemaNumber part : node.all) parts.push_back(applied(part));
  for (const auto& list : node.any) parts.push_back(goals_.algebra().any_of(shapes(list)));
  for (const auto& list : node.one) parts.push_back(goals_.algebra().one_of(shapes(list)));
  for (const SchemaNumber part : node.none) {
    parts.push_back(goals_.algebra().negation(applied(part)));
  }
  if (node.condition != kNoSchema) {
    const ValueShape condition = applied(node.condition);
    if (node.then_schema != kNoSchema) {
      parts.push_back(either(goals_.algebra().negation(condition), applied(node.then_schema)));
    }
    if (node.else_schema != kNoSchema) {
      parts.push_back(either(condition, applied(node.else_schema)));
    }
  }
  return goals_.algebra().all_of(parts);
}

}  // namespace ruv
