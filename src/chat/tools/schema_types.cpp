#include "chat/tools/schema_types.h"

#include <cmath>
#include <functional>
#include <string>

#include "base/json.h"

namespace ruv {
namespace {

// Subschemas in each other, and subschemas looked at in all, references counted.
constexpr int kMaxSchemaDepth = 16;
constexpr int kMaxSchemaSteps = 256;

TypeSet type_named(std::string_view name) {
  if (name == "string") return TypeSet(TypeSet::string);
  if (name == "integer") return TypeSet(TypeSet::integer);
  if (name == "number") return TypeSet(TypeSet::integer | TypeSet::number);
  if (name == "boolean") return TypeSet(TypeSet::boolean);
  if (name == "null") return TypeSet(TypeSet::null);
  if (name == "array") return TypeSet(TypeSet::array);
  if (name == "object") return TypeSet(TypeSet::object);
  return TypeSet::all();
}

// Visits schemas within limits.
class SchemaWalk {
 public:
  explicit SchemaWalk(const Json* root) : root_(root) {}

  TypeSet types(const Json& schema, int depth) {
    if (!schema.is_object() || depth == kMaxSchemaDepth || ++n_steps_ > kMaxSchemaSteps) {
      return TypeSet::all();
    }
    TypeSet found = TypeSet::all();
    if (const Json* type = schema.find("type")) found = found & types_named(*type);
    if (const Json* values = schema.find("enum")) found = found & types_of_list(*values);
    if (const Json* value = schema.find("const")) found = found & type_of_value(*value);
    for (const char* either : {"anyOf", "oneOf"}) {
      if (const Json* list = schema.find(either)) found = found & of_any(*list, depth);
    }
    if (const Json* list = schema.find("allOf"); list != nullptr && list->is_array()) {
      for (const Json& each : *list) found = found & types(each, depth + 1);
    }
    if (const Json* reference = schema.find("$ref")) {
      if (const Json* there = schema_at(*reference, root_)) {
        found = found & types(*there, depth + 1);
      }
    }
    const Json* nullable = schema.find("nullable");
    if (nullable != nullptr && *nullable == true) found = found | TypeSet(TypeSet::null);
    return found;
  }

  // The first subschema for which pick() gives one, among the schema and its alternatives.
  const Json* first(const Json& schema, int depth,
                    const std::function<const Json*(const Json&)>& pick) {
    if (!schema.is_object() || depth == kMaxSchemaDepth || ++n_steps_ > kMaxSchemaSteps) {
      return nullptr;
    }
    if (const Json* found = pick(schema)) return found;
    for (const char* several : {"anyOf", "oneOf", "allOf"}) {
      const Json* list = schema.find(several);
      if (list == nullptr || !list->is_array()) continue;
      for (const Json& each : *list) {
        if (const Json* found = first(each, depth + 1, pick)) return found;
      }
    }
    const Json* reference = schema.find("$ref");
    const Json* there = reference != nullptr ? schema_at(*reference, root_) : nullptr;
    return there != nullptr ? first(*there, depth + 1, pick) : nullptr;
  }

 private:
  static TypeSet types_named(const Json& type) {
    if (type.is_string()) return type_named(type.text());
    if (!type.is_array()) return TypeSet::all();
    TypeSet found;
    for (const Json& name : type) {
      found = found | (name.is_string() ? type_named(name.text()) : TypeSet::all());
    }
    return found;
  }
  static TypeSet types_of_list(const Json& values) {
    if (!values.is_array()) return TypeSet::all();
    TypeSet found;
    for (const Json& value : values) found = found | type_of_value(value);
    return found;
  }
  TypeSet of_any(const Json& list, int depth) {
    if (!list.is_array()) return TypeSet::all();
    TypeSet found;
    for (const Json& each : list) found = found | types(each, depth + 1);
    return found;
  }

  const Json* root_;
  int n_steps_ = 0;
};

}  // namespace

const Json* schema_at(const Json& reference, const Json* root) {
  if (!reference.is_string() || root == nullptr) return nullptr;
  std::string_view path = reference.text();
  if (path == "#") return root;
  if (!path.starts_with("#/")) return nullptr;
  path.remove_prefix(2);
  const Json* at = root;
  while (at != nullptr && at->is_object()) {
    const size_t slash = path.find('/');
    at = at->find(path.substr(0, slash));
    if (slash == std::string_view::npos) return at;
    path.remove_prefix(slash + 1);
  }
  return nullptr;
}

TypeSet type_of_value(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::null:
      return TypeSet(TypeSet::null);
    case Json::Kind::boolean:
      return TypeSet(TypeSet::boolean);
    case Json::Kind::string:
      return TypeSet(TypeSet::string);
    case Json::Kind::array:
      return TypeSet(TypeSet::array);
    case Json::Kind::object:
      return TypeSet(TypeSet::object);
    case Json::Kind::real: {
      const auto real = value.get<double>();
      return TypeSet(real == std::floor(real) ? TypeSet::integer : TypeSet::number);
    }
    default:
      return TypeSet(TypeSet::integer);
  }
}

TypeSet schema_types(SchemaPlace place) {
  if (place.schema == nullptr) return TypeSet::all();
  return SchemaWalk(place.root).types(*place.schema, 0);
}

SchemaPlace member_schema(SchemaPlace place, std::string_view key) {
  if (place.schema == nullptr) return {};
  const Json* found = SchemaWalk(place.root).first(*place.schema, 0, [&](const Json& schema) {
    const Json* members = schema.find("properties");
    const Json* member = members != nullptr && members->is_object() ? members->find(key) : nullptr;
    if (member != nullptr) return member;
    const Json* others = schema.find("additionalProperties");
    return others != nullptr && others->is_object() ? others : nullptr;
  });
  return {found, place.root};
}

SchemaPlace item_schema(SchemaPlace place) {
  if (place.schema == nullptr) return {};
  const Json* found = SchemaWalk(place.root).first(*place.schema, 0, [](const Json& schema) {
    const Json* items = schema.find("items");
    return items != nullptr && items->is_object() ? items : nullptr;
  });
  return {found, place.root};
}

}  // namespace ruv
