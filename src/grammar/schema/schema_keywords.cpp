// The keywords of SchemaReader about values of one type.
#include <algorithm>

#include "grammar/json/number_language.h"
#include "grammar/regex/pattern_language.h"
#include "grammar/schema/schema_reader.h"

namespace ruv {
namespace {

constexpr size_t kMaxValues = 100'000;

constexpr std::pair<std::string_view, uint8_t> kTypeNames[] = {
    {"null", kNullType},       {"boolean", kBooleanType},
    {"integer", kIntegerType}, {"number", kNumberType | kIntegerType},
    {"string", kStringType},   {"array", kArrayType},
    {"object", kObjectType}};

}  // namespace

// Numbers include integers.
Status SchemaReader::read_type(SchemaNumber at, const Json& value) {
  uint8_t types = 0;
  const auto add = [&](const Json& name) {
    if (!name.is_string()) return false;
    for (const auto& [text, type] : kTypeNames) {
      if (name.text() != text) continue;
      types |= type;
      return true;
    }
    return false;
  };
  const bool ok = value.is_array() ? std::ranges::all_of(value.elements(), add) : add(value);
  if (!ok) return wrong(at, "type", "the name of a type, or a list of them").value();
  made(at).types &= types;
  return {};
}

// "const" is an "enum" of one value.
Status SchemaReader::read_values(SchemaNumber at, std::string_view name, const Json& value) {
  if (name == "type") return read_type(at, value);
  SchemaNode& node = made(at);
  std::vector<Json> values;
  if (name == "const") {
    values.push_back(value);
  } else {
    if (!value.is_array()) return wrong(at, name, "a list").value();
    if (value.size() > kMaxValues) {
      return Status(Code::unsupported,
                    fmt::format("{}: more than {} values", place_text(at, name), kMaxValues));
    }
    values.assign(value.begin(), value.end());
  }
  if (node.has_values) {  // both: the values of both lists
    std::erase_if(node.values,
                  [&](const Json& one) { return std::ranges::find(values, one) == values.end(); });
  } else {
    node.values = std::move(values);
  }
  node.has_values = true;
  return {};
}

// minimum, maximum and their exclusive forms, in which draft 4 has booleans.
Status SchemaReader::read_bound(SchemaNumber at, std::string_view name, const Json& value) {
  if (name == "multipleOf") return read_multiple(at, value);
  const bool is_exclusive_name = name.starts_with("exclusive");
  if (is_exclusive_name && value.is_boolean()) return {};  // draft 4: read with the bound
  if (!value.is_number()) return wrong(at, name, "a number").value();
  const bool is_minimum = name == "minimum" || name == "exclusiveMinimum";
  bool is_exclusive = is_exclusive_name;
  if (!is_exclusive_name) {
    const Json* flag = json(at).find(is_minimum ? "exclusiveMinimum" : "exclusiveMaximum");
    is_exclusive = flag != nullptr && *flag == true;
  }
  const auto bound = Decimal::parse(value.dump());
  if (!bound) return with_context(place_text(at, name), Status(bound.error()));
  Languages& l = goals_.languages();
  // Above or below: what is not at most the bound, or not at least.
  Language allowed = at_least(l, *bound, is_minimum ? !is_exclusive : is_exclusive);
  if (!is_minimum) allowed = l.but(plain_number(l), allowed);
  made(at).numbers.push_back(goals_.algebra().numbers(allowed, Truth::unknown));
  return {};
}

Status SchemaReader::read_multiple(SchemaNumber at, const Json& value) {
  if (!value.is_number()) return wrong(at, "multipleOf", "a number above 0").value();
  const auto step = Decimal::parse(value.dump());
  if (!step) return with_context(place_text(at, "multipleOf"), Status(step.error()));
  const auto allowed = multiple_of(goals_.languages(), *step);
  if (!allowed) return with_context(place_text(at, "multipleOf"), Status(allowed.error()));
  made(at).numbers.push_back(goals_.algebra().numbers(*allowed, Truth::unknown));
  return {};
}

// Formats that are not known or not regular are noted.
Status SchemaReader::read_string(SchemaNumber at, std::string_view name, const Json& value) {
  if (name == "minLength" || name == "maxLength") {
    const uint32_t n = TRY(count(at, name, value));
    if (name == "minLength") made(at).min_length = n;
    if (name == "maxLength") made(at).max_length = n;
    return {};
  }
  if (!value.is_string()) return wrong(at, name, "a text").value();
  if (name == "pattern") {
    made(at).strings.push_back(TRY(pattern(at, name, value.text())));
    return {};
  }
  const auto format = formats_.find(value.text());
  if (format) {
    made(at).strings.push_back(*format);
  } else {
    note(at, name, fmt::format("the format \"{}\" is not enforced", value.text()));
  }
  return {};
}

// Keywords of arrays but those that list schemas of items.
Status SchemaReader::read_item_keyword(SchemaNumber at, std::string_view name, const Json& value) {
  ItemKeywords& items = made(at).items;
  if (name == "uniqueItems") {
    if (!value.is_boolean()) return wrong(at, name, "true or false").value();
    items.unique = value == true;
  } else if (name == "contains") {
    items.contains = child(at, value, name);
    items.contains_evaluates = draft(at) >= SchemaDraft::draft2020;
  } else if (name == "unevaluatedItems") {
    items.unevaluated = child(at, value, name);
  } else {
    const uint32_t n = TRY(count(at, name, value));
    if (name == "minContains") items.min_contains = n;
    if (name == "maxContains") items.max_contains = n;
    if (name == "minItems") items.min = n;
    if (name == "maxItems") items.max = n;
  }
  return {};
}

// A list in "items" is what later drafts call "prefixItems"; "additionalItems" follows it.
Status SchemaReader::read_items(SchemaNumber at, std::string_view name, const Json& value) {
  ItemKeywords& items = made(at).items;
  if (name == "prefixItems" || (name == "items" && value.is_array())) {
    if (!value.is_array()) return wrong(at, name, "a list of schemas").value();
    items.prefix.clear();
    for (const Json& item : value) items.prefix.push_back(child(at, item, name));
  } else if (name == "items") {
    items.rest = child(at, value, name);
  } else {
    const Json* list = json(at).find("items");
    if (list != nullptr && list->is_array()) items.rest = child(at, value, name);
  }
  return {};
}

// Keywords of objects but those about dependencies.
Status SchemaReader::read_member_keyword(SchemaNumber at, std::string_view name,
                                         const Json& value) {
  MemberKeywords& members = made(at).members;
  if (name == "properties") return read_properties(at, value);
  if (name == "patternProperties") {
    if (!value.is_object()) return wrong(at, name, "an object of schemas").value();
    for (const auto& [key, schema] : value.items()) {
      const Language keys = TRY(pattern(at, name, key));
      members.patterns.emplace_back(goals_.keys().of_language(keys), child(at, schema, key));
    }
  } else if (name == "additionalProperties") {
    members.additional = child(at, value, name);
  } else if (name == "propertyNames") {
    members.names = child(at, value, name);
  } else if (name == "unevaluatedProperties") {
    members.unevaluated = child(at, value, name);
  } else if (name == "required") {
    if (value.is_boolean()) {  // draft 3
      note(at, name, "a boolean is not a list of names");
      return {};
    }
    members.required = TRY(read_names(at, name, value));
  } else {
    const uint32_t n = TRY(count(at, name, value));
    if (name == "minProperties") members.min = n;
    if (name == "maxProperties") members.max = n;
  }
  return {};
}

Status SchemaReader::read_properties(SchemaNumber at, const Json& value) {
  if (!value.is_object()) return wrong(at, "properties", "an object of schemas").value();
  for (const auto& [key, schema] : value.items()) {
    const SchemaNumber number = child(at, schema, key);
    made(at).members.properties.emplace_back(goals_.keys().name(key), number);
  }
  return {};
}

Result<std::vector<KeyName>> SchemaReader::read_names(SchemaNumber at, std::string_view name,
                                                      const Json& value) {
  const auto is_text = [](const Json& key) { return key.is_string(); };
  if (!value.is_array() || !std::ranges::all_of(value.elements(), is_text)) {
    return wrong(at, name, "a list of names");
  }
  std::vector<KeyName> names;
  for (const Json& key : value) names.push_back(goals_.keys().name(key.text()));
  return names;
}

// "dependencies" of old drafts has lists of names and schemas side by side.
Status SchemaReader::read_dependencies(SchemaNumber at, std::string_view name, const Json& value) {
  if (!value.is_object()) return wrong(at, name, "an object").value();
  for (const auto& [key, what] : value.items()) {
    const KeyName trigger = goals_.keys().name(key);
    if (what.is_array() && name != "dependentSchemas") {
      std::vector<KeyName> names = TRY(read_names(at, name, what));
      made(at).members.dependent_required.emplace_back(trigger, std::move(names));
    } else if (name == "dependentRequired") {
      return wrong(at, name, "an object of lists of names").value();
    } else {
      const SchemaNumber number = child(at, what, key);
      made(at).members.dependent_schemas.emplace_back(trigger, number);
    }
  }
  return {};
}

// What depends on other keywords of the same schema.
Status SchemaReader::read_additional(SchemaNumber at) {
  ItemKeywords& items = made(at).items;
  if (items.contains == kNoSchema) items.max_contains.reset();
  return {};
}

}  // namespace ruv
