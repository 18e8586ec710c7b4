// A plain validator of JSON Schema for tests: recursive, keyword by keyword as the specifications
// say, on a whole value. It shares nothing with the languages and goals that it is compared with.
//
// Reads schemas of tests only: references are "#" or a pointer into the same document, patterns are
// those of std::regex, numbers have at most three decimals.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "base/json.h"

namespace ruv {

class TestValidator {
 public:
  // `draft`: 4, 6, 7, 2019 or 2020. `root` must outlive the object.
  TestValidator(const Json& root, int draft) : root_(root), draft_(draft) {}

  // Requires: references do not lead in a circle for the same value.
  bool valid(const Json& value) const;
  // Equal by value: 1 and 1.0 are, objects have no order.
  static bool equal(const Json& a, const Json& b);

 private:
  // What keywords of schemas that hold have applied to.
  struct Evaluated {
    std::set<std::string, std::less<>> keys;
    std::set<size_t> items;
    void add(const Evaluated& other);
  };
  bool check(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool holds(const Json& schema, const Json& value) const;
  bool check_value(const Json& schema, const Json& value) const;
  bool check_number(const Json& schema, const Json& value) const;
  bool check_text(const Json& schema, const Json& value) const;
  bool check_items(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool check_contains(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool check_members(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool check_counts(const Json& schema, const Json& value) const;
  bool check_dependencies(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool check_choices(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool check_unevaluated(const Json& schema, const Json& value, Evaluated& evaluated) const;
  bool is_of_type(const Json& value, std::string_view type) const;
  const Json& target(std::string_view reference) const;

  const Json& root_;
  int draft_;
};

namespace test_validation {

inline int64_t thousandths(const Json& number) { return std::llround(number.get<double>() * 1000); }

inline size_t code_points(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

// Compiling takes longer than all else.
inline bool matches(std::string_view pattern, std::string_view text) {
  static std::map<std::string, std::regex, std::less<>> known;
  auto at = known.find(pattern);
  if (at == known.end()) {
    at = known.emplace(pattern, std::regex(std::string(pattern), std::regex::ECMAScript)).first;
  }
  return std::regex_search(text.begin(), text.end(), at->second);
}

inline bool has_duplicates(const Json& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (TestValidator::equal(list.at(i), list.at(j))) return true;
    }
  }
  return false;
}

}  // namespace test_validation

inline bool TestValidator::equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number())
    return test_validation::thousandths(a) == test_validation::thousandths(b);
  if (a.kind() != b.kind()) return false;
  if (a.is_array()) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Json& x, const Json& y) { return equal(x, y); });
  }
  if (!a.is_object()) return a == b;
  if (a.size() != b.size()) return false;
  for (const auto& [key, member] : a.items()) {
    if (!b.contains(key) || !equal(member, b.at(key))) return false;
  }
  return true;
}

inline void TestValidator::Evaluated::add(const Evaluated& other) {
  keys.insert(other.keys.begin(), other.keys.end());
  items.insert(other.items.begin(), other.items.end());
}

inline bool TestValidator::valid(const Json& value) const { return holds(root_, value); }

inline bool TestValidator::holds(const Json& schema, const Json& value) const {
  Evaluated unused;
  return check(schema, value, unused);
}

inline const Json& TestValidator::target(std::string_view reference) const {
  CHECK(!reference.empty() && reference[0] == '#');
  const Json* at = &root_;
  for (std::string_view rest = reference.substr(1); !rest.empty();) {
    const size_t end = std::min(rest.find('/', 1), rest.size());
    const std::string step(rest.substr(1, end - 1));
    at = at->is_array() ? &at->at(static_cast<size_t>(std::stoul(step))) : &at->at(step);
    rest.remove_prefix(end);
  }
  return *at;
}

// What a schema that does not hold has applied to is forgotten.
inline bool TestValidator::check(const Json& schema, const Json& value,
                                 Evaluated& evaluated) const {
  if (schema.is_boolean()) return schema == true;
  Evaluated mine;
  if (schema.contains("$ref")) {
    if (!check(target(schema.at("$ref").text()), value, mine)) return false;
    if (draft_ <= 7) {
      evaluated.add(mine);
      return true;
    }
  }
  const bool ok = check_value(schema, value) && check_number(schema, value) &&
                  check_text(schema, value) && check_items(schema, value, mine) &&
                  check_contains(schema, value, mine) && check_members(schema, value, mine) &&
                  check_counts(schema, value) && check_dependencies(schema, value, mine) &&
                  check_choices(schema, value, mine) && check_unevaluated(schema, value, mine);
  if (ok) evaluated.add(mine);
  return ok;
}

inline bool TestValidator::is_of_type(const Json& value, std::string_view type) const {
  if (type != "integer") return value.type_name() == type;
  return value.is_number() && test_validation::thousandths(value) % 1000 == 0;
}

inline bool TestValidator::check_value(const Json& schema, const Json& value) const {
  if (const Json* type = schema.find("type"); type != nullptr) {
    const auto fits = [&](const Json& name) { return is_of_type(value, name.text()); };
    if (!(type->is_array() ? std::ranges::any_of(*type, fits) : fits(*type))) return false;
  }
  const auto is_equal = [&](const Json& other) { return equal(value, other); };
  if (schema.contains("enum") && !std::ranges::any_of(schema.at("enum"), is_equal)) return false;
  return draft_ < 6 || !schema.contains("const") || is_equal(schema.at("const"));
}

inline bool TestValidator::check_number(const Json& schema, const Json& value) const {
  if (!value.is_number()) return true;
  const int64_t number = test_validation::thousandths(value);
  const bool old = draft_ == 4;
  if (const Json* bound = schema.find("minimum"); bound != nullptr) {
    if (number < test_validation::thousandths(*bound)) return false;
    if (old && schema["exclusiveMinimum"] == true && number == test_validation::thousandths(*bound))
      return false;
  }
  if (const Json* bound = schema.find("maximum"); bound != nullptr) {
    if (number > test_validation::thousandths(*bound)) return false;
    if (old && schema["exclusiveMaximum"] == true && number == test_validation::thousandths(*bound))
      return false;
  }
  if (!old) {
    const Json* low = schema.find("exclusiveMinimum");
    const Json* high = schema.find("exclusiveMaximum");
    if (low != nullptr && number <= test_validation::thousandths(*low)) return false;
    if (high != nullptr && number >= test_validation::thousandths(*high)) return false;
  }
  const Json* step = schema.find("multipleOf");
  return step == nullptr || number % test_validation::thousandths(*step) == 0;
}

inline bool TestValidator::check_text(const Json& schema, const Json& value) const {
  if (!value.is_string()) return true;
  const size_t length = test_validation::code_points(value.text());
  if (const Json* min = schema.find("minLength"); min && length < min->get<size_t>()) return false;
  if (const Json* max = schema.find("maxLength"); max && length > max->get<size_t>()) return false;
  const Json* pattern = schema.find("pattern");
  return pattern == nullptr || test_validation::matches(pattern->text(), value.text());
}

inline bool TestValidator::check_items(const Json& schema, const Json& value,
                                       Evaluated& evaluated) const {
  if (!value.is_array()) return true;
  const Json* prefix = schema.find("prefixItems");
  const Json* rest = schema.find("items");
  if (draft_ < 2020) {
    prefix = rest != nullptr && rest->is_array() ? rest : nullptr;
    if (prefix != nullptr) rest = schema.find("additionalItems");
  }
  const size_t n_prefix = prefix == nullptr ? 0 : prefix->size();
  for (size_t i = 0; i < value.size(); ++i) {
    const Json* item = i < n_prefix ? &prefix->at(i) : rest;
    if (item == nullptr) continue;
    if (!holds(*item, value.at(i))) return false;
    evaluated.items.insert(i);
  }
  const size_t n = value.size();
  if (const Json* min = schema.find("minItems"); min && n < min->get<size_t>()) return false;
  if (const Json* max = schema.find("maxItems"); max && n > max->get<size_t>()) return false;
  return schema["uniqueItems"] != true || !test_validation::has_duplicates(value);
}

inline bool TestValidator::check_contains(const Json& schema, const Json& value,
                                          Evaluated& evaluated) const {
  const Json* wanted = schema.find("contains");
  if (!value.is_array() || wanted == nullptr || draft_ < 6) return true;
  size_t n = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    if (!holds(*wanted, value.at(i))) continue;
    ++n;
    if (draft_ >= 2020) evaluated.items.insert(i);
  }
  if (draft_ < 2019) return n > 0;
  const Json* max = schema.find("maxContains");
  return n >= schema.value<size_t>("minContains", 1) && (max == nullptr || n <= max->get<size_t>());
}

inline bool TestValidator::check_members(const Json& schema, const Json& value,
                                         Evaluated& evaluated) const {
  if (!value.is_object()) return true;
  const Json& named = schema["properties"];
  const Json& patterns = schema["patternProperties"];
  const Json* additional = schema.find("additionalProperties");
  const Json* names = schema.find("propertyNames");
  for (const auto& [key, member] : value.items()) {
    bool is_known = false;
    if (named.is_object() && named.contains(key)) {
      is_known = true;
      if (!holds(named.at(key), member)) return false;
    }
    if (patterns.is_object()) {
      for (const auto& [pattern, part] : patterns.items()) {
        if (!test_validation::matches(pattern, key)) continue;
        is_known = true;
        if (!holds(part, member)) return false;
      }
    }
    if (!is_known && additional != nullptr) {
      is_known = true;
      if (!holds(*additional, member)) return false;
    }
    if (names != nullptr && draft_ >= 6 && !holds(*names, Json(key))) return false;
    if (is_known) evaluated.keys.emplace(key);
  }
  return true;
}

inline bool TestValidator::check_counts(const Json& schema, const Json& value) const {
  if (!value.is_object()) return true;
  const auto has = [&](const Json& key) { return value.contains(key.text()); };
  if (schema.contains("required") && !std::ranges::all_of(schema.at("required"), has)) return false;
  const size_t n = value.size();
  if (const Json* min = schema.find("minProperties"); min && n < min->get<size_t>()) return false;
  const Json* max = schema.find("maxProperties");
  return max == nullptr || n <= max->get<size_t>();
}

inline bool TestValidator::check_dependencies(const Json& schema, const Json& value,
                                              Evaluated& evaluated) const {
  if (!value.is_object()) return true;
  for (const std::string_view name : {"dependencies", "dependentRequired", "dependentSchemas"}) {
    if ((name == "dependencies") != (draft_ <= 7)) continue;
    if (!schema.contains(name)) continue;
    for (const auto& [trigger, what] : schema.at(name).items()) {
      if (!value.contains(trigger)) continue;
      if (!what.is_array()) {
        if (!check(what, value, evaluated)) return false;
        continue;
      }
      for (const Json& key : what) {
        if (!value.contains(key.text())) return false;
      }
    }
  }
  return true;
}

inline bool TestValidator::check_choices(const Json& schema, const Json& value,
                                         Evaluated& evaluated) const {
  const auto n_valid = [&](std::string_view name) {
    size_t n = 0;
    for (const Json& part : schema.at(name)) n += check(part, value, evaluated) ? 1 : 0;
    return n;
  };
  if (schema.contains("allOf") && n_valid("allOf") < schema.at("allOf").size()) return false;
  if (schema.contains("anyOf") && n_valid("anyOf") == 0) return false;
  if (schema.contains("oneOf") && n_valid("oneOf") != 1) return false;
  if (schema.contains("not") && holds(schema.at("not"), value)) return false;
  if (!schema.contains("if") || draft_ < 7) return true;
  const Json* branch = schema.find(check(schema.at("if"), value, evaluated) ? "then" : "else");
  return branch == nullptr || check(*branch, value, evaluated);
}

inline bool TestValidator::check_unevaluated(const Json& schema, const Json& value,
                                             Evaluated& evaluated) const {
  if (draft_ < 2019) return true;
  const Json* members = schema.find("unevaluatedProperties");
  if (members != nullptr && value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      if (evaluated.keys.contains(key)) continue;
      if (!holds(*members, member)) return false;
      evaluated.keys.emplace(key);
    }
  }
  const Json* items = schema.find("unevaluatedItems");
  if (items != nullptr && value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) {
      if (evaluated.items.contains(i)) continue;
      if (!holds(*items, value.at(i))) return false;
      evaluated.items.insert(i);
    }
  }
  return true;
}

}  // namespace ruv
