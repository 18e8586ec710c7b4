// The plain validator and its own tests: compared with by others, it must be right by itself.
#include "grammar/schema/test_validator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

namespace ruv {
namespace {

int64_t thousandths(const Json& number) { return std::llround(number.get<double>() * 1000); }

size_t code_points(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

// Compiling takes longer than all else.
bool matches(std::string_view pattern, std::string_view text) {
  static std::map<std::string, std::regex, std::less<>> known;
  auto at = known.find(pattern);
  if (at == known.end()) {
    at = known.emplace(pattern, std::regex(std::string(pattern), std::regex::ECMAScript)).first;
  }
  return std::regex_search(text.begin(), text.end(), at->second);
}

bool has_duplicates(const Json& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (TestValidator::equal(list.at(i), list.at(j))) return true;
    }
  }
  return false;
}

}  // namespace

bool TestValidator::equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return thousandths(a) == thousandths(b);
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

void TestValidator::Evaluated::add(const Evaluated& other) {
  keys.insert(other.keys.begin(), other.keys.end());
  items.insert(other.items.begin(), other.items.end());
}

bool TestValidator::valid(const Json& value) const { return holds(root_, value); }

bool TestValidator::holds(const Json& schema, const Json& value) const {
  Evaluated unused;
  return check(schema, value, unused);
}

const Json& TestValidator::target(std::string_view reference) const {
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
bool TestValidator::check(const Json& schema, const Json& value, Evaluated& evaluated) const {
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

bool TestValidator::is_of_type(const Json& value, std::string_view type) const {
  if (type != "integer") return value.type_name() == type;
  return value.is_number() && thousandths(value) % 1000 == 0;
}

bool TestValidator::check_value(const Json& schema, const Json& value) const {
  if (const Json* type = schema.find("type"); type != nullptr) {
    const auto fits = [&](const Json& name) { return is_of_type(value, name.text()); };
    if (!(type->is_array() ? std::ranges::any_of(*type, fits) : fits(*type))) return false;
  }
  const auto is_equal = [&](const Json& other) { return equal(value, other); };
  if (schema.contains("enum") && !std::ranges::any_of(schema.at("enum"), is_equal)) return false;
  return draft_ < 6 || !schema.contains("const") || is_equal(schema.at("const"));
}

bool TestValidator::check_number(const Json& schema, const Json& value) const {
  if (!value.is_number()) return true;
  const int64_t number = thousandths(value);
  const bool old = draft_ == 4;
  if (const Json* bound = schema.find("minimum"); bound != nullptr) {
    if (number < thousandths(*bound)) return false;
    if (old && schema["exclusiveMinimum"] == true && number == thousandths(*bound)) return false;
  }
  if (const Json* bound = schema.find("maximum"); bound != nullptr) {
    if (number > thousandths(*bound)) return false;
    if (old && schema["exclusiveMaximum"] == true && number == thousandths(*bound)) return false;
  }
  if (!old) {
    const Json* low = schema.find("exclusiveMinimum");
    const Json* high = schema.find("exclusiveMaximum");
    if (low != nullptr && number <= thousandths(*low)) return false;
    if (high != nullptr && number >= thousandths(*high)) return false;
  }
  const Json* step = schema.find("multipleOf");
  return step == nullptr || number % thousandths(*step) == 0;
}

bool TestValidator::check_text(const Json& schema, const Json& value) const {
  if (!value.is_string()) return true;
  const size_t length = code_points(value.text());
  if (const Json* min = schema.find("minLength"); min && length < min->get<size_t>()) return false;
  if (const Json* max = schema.find("maxLength"); max && length > max->get<size_t>()) return false;
  const Json* pattern = schema.find("pattern");
  return pattern == nullptr || matches(pattern->text(), value.text());
}

bool TestValidator::check_items(const Json& schema, const Json& value, Evaluated& evaluated) const {
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
  return schema["uniqueItems"] != true || !has_duplicates(value);
}

bool TestValidator::check_contains(const Json& schema, const Json& value,
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

bool TestValidator::check_members(const Json& schema, const Json& value,
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
        if (!matches(pattern, key)) continue;
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

bool TestValidator::check_counts(const Json& schema, const Json& value) const {
  if (!value.is_object()) return true;
  const auto has = [&](const Json& key) { return value.contains(key.text()); };
  if (schema.contains("required") && !std::ranges::all_of(schema.at("required"), has)) return false;
  const size_t n = value.size();
  if (const Json* min = schema.find("minProperties"); min && n < min->get<size_t>()) return false;
  const Json* max = schema.find("maxProperties");
  return max == nullptr || n <= max->get<size_t>();
}

bool TestValidator::check_dependencies(const Json& schema, const Json& value,
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

bool TestValidator::check_choices(const Json& schema, const Json& value,
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

bool TestValidator::check_unevaluated(const Json& schema, const Json& value,
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

namespace {

struct ValidatorCase {
  int draft;
  std::string_view schema;
  std::vector<std::string_view> valid;
  std::vector<std::string_view> invalid;
};

TEST(TestValidator, KnowsTheKeywords) {
  const ValidatorCase cases[] = {
      {4, R"({"minimum": 1, "exclusiveMinimum": true})", {"1.5", "\"a\""}, {"1", "1.0"}},
      {2020, R"({"type": "integer", "multipleOf": 0.5})", {"1.0", "2"}, {"1.5", "\"1\""}},
      {2020, R"({"enum": [{"a": 1, "b": [2]}]})", {R"({"b": [2.0], "a": 1})"}, {R"({"a": 1})"}},
      {2020, R"({"minLength": 2, "pattern": "^é"})", {"\"éb\""}, {"\"é\"", "\"be\""}},
      {7,
       R"({"items": [{"type": "null"}], "additionalItems": false})",
       {"[]", "[null]"},
       {"[1]", "[null, null]"}},
      {2020, R"({"contains": {"const": 1}, "maxContains": 1})", {"[2, 1]"}, {"[]", "[1, 1]"}},
      {2020,
       R"({"contains": {"const": 1}, "minContains": 0, "unevaluatedItems": false})",
       {"[]", "[1, 1]"},
       {"[2]"}},
      {2019, R"({"contains": {"const": 1}, "unevaluatedItems": false})", {"0"}, {"[1]"}},
      {2020,
       R"({"properties": {"a": true}, "patternProperties": {"^a": {"maximum": 1}},
                 "additionalProperties": false})",
       {R"({"a": 1, "ab": 0})"},
       {R"({"a": 2})", R"({"b": 1})"}},
      {2020,
       R"({"anyOf": [{"properties": {"a": true}, "required": ["b"]}, {"properties":
                 {"c": true}}], "unevaluatedProperties": false})",
       {R"({"c": 1})", "{}"},
       {R"({"a": 1})", R"({"b": 1, "a": 1})"}},
      {2020,
       R"({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
                 "then": {"required": ["b"]}, "else": {"maxProperties": 0},
                 "unevaluatedProperties": {"type": "null"}})",
       {"{}", R"({"a": 1, "b": null})"},
       {R"({"a": 1})", R"({"a": 1, "b": 1})", R"({"b": 1})"}},
      {7,
       R"({"dependencies": {"a": ["b"], "c": {"maxProperties": 1}}})",
       {R"({"a": 1, "b": 1})", R"({"c": 1})"},
       {R"({"a": 1})", R"({"c": 1, "b": 2})"}},
      {2020,
       R"({"$ref": "#/$defs/x", "maxItems": 1, "$defs": {"x": {"items": {"$ref": "#"}}}})",
       {"[[]]", "1"},
       {"[1, 2]", "[[1, 2]]"}},
      {7,
       R"({"$ref": "#/definitions/x", "maxItems": 1, "definitions": {"x": true}})",
       {"[1, 2]"},
       {}},
      {2020, R"({"uniqueItems": true})", {"[1, true, \"1\"]"}, {"[1, 1.0]", "[{}, {}]"}},
      {2020,
       R"({"propertyNames": {"maxLength": 1}, "minProperties": 1})",
       {R"({"a": 1})"},
       {"{}", R"({"ab": 1})"}},
  };
  for (const ValidatorCase& c : cases) {
    const Json schema = *parse_json(c.schema, "schema");
    const TestValidator validator(schema, c.draft);
    for (const auto text : c.valid) {
      EXPECT_TRUE(validator.valid(*parse_json(text, "value"))) << c.schema << ' ' << text;
    }
    for (const auto text : c.invalid) {
      EXPECT_FALSE(validator.valid(*parse_json(text, "value"))) << c.schema << ' ' << text;
    }
  }
}

}  // namespace
}  // namespace ruv
