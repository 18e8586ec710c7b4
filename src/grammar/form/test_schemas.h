// Random small schemas and all small documents, for tests that compare what a form accepts with
// what a plain validator says. Keywords are few but meet in every combination, contradictions
// included; keys and values are so few that they collide.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/rng.h"

namespace ruv {

class RandomSchemas {
 public:
  // `draft`: 4, 6, 7, 2019 or 2020. Only keywords of that draft are drawn.
  RandomSchemas(Rng& rng, int draft) : rng_(rng), draft_(draft) {}

  // References lead to the root or to one definition, and never back to the same value.
  Json root() {
    may_refer_ = chance(3);
    in_definition_ = false;
    Json made = schema(3, false);
    if (!made.is_object()) return made;
    if (may_refer_) {
      in_definition_ = true;
      made[defs()] = Json::object();
      made[defs()]["r"] = schema(2, false);
    }
    return made;
  }

 private:
  bool chance(uint64_t one_in) { return rng_.below(one_in) == 0; }
  int small(int most) { return static_cast<int>(rng_.below(static_cast<uint64_t>(most) + 1)); }
  const char* defs() const { return draft_ <= 7 ? "definitions" : "$defs"; }
  const char* key() {
    constexpr const char* kKeys[] = {"a", "b", "ab"};
    return kKeys[rng_.below(3)];
  }
  Json text(std::initializer_list<const char*> list) {
    return Json(list.begin()[rng_.below(list.size())]);
  }
  Json scalar() {
    const Json all[] = {1, 2, 3, 1.5, "a", "b", "ab", "", true, false, nullptr};
    return all[rng_.below(std::size(all))];
  }
  Json value() {
    if (!chance(5)) return scalar();
    Json made = chance(2) ? Json::array() : Json::object();
    for (int i = small(2); i > 0; --i) {
      made.is_array() ? made.push_back(scalar()) : void(made[key()] = scalar());
    }
    return made;
  }
  Json keys() {
    Json made = Json::array();
    for (const char* name : {"a", "b", "ab"}) {
      if (chance(2)) made.push_back(name);
    }
    if (made.empty()) made.push_back("a");
    return made;
  }
  Json schemas(int depth, bool inside) {
    Json made = Json::array();
    for (int i = 1 + small(2); i > 0; --i) made.push_back(schema(depth - 1, inside));
    return made;
  }
  Json by_key(int depth, bool inside) {
    Json made = Json::object();
    for (int i = 1 + small(1); i > 0; --i) made[key()] = schema(depth - 1, inside);
    return made;
  }

  // `inside`: a member or an item lies between this schema and the root or the definition.
  Json schema(int depth, bool inside) {
    if (chance(14) && draft_ >= 6) return Json(chance(3) ? false : true);
    if (may_refer_ && (inside || !in_definition_) && chance(6)) {
      Json made = Json::object();
      const std::string definition = std::string("#/") + defs() + "/r";
      made["$ref"] = inside && chance(2) ? std::string("#") : definition;
      return made;
    }
    Json made = Json::object();
    for (int i = 1 + small(2); i > 0; --i) {
      switch (depth <= 0 ? rng_.below(3) : rng_.below(10)) {
        case 0:
          add_values(made);
          break;
        case 1:
          add_numbers(made);
          break;
        case 2:
          add_texts(made);
          break;
        case 3:
        case 4:
          add_items(made, depth, inside);
          break;
        case 5:
        case 6:
        case 7:
          add_members(made, depth, inside);
          break;
        default:
          add_choice(made, depth, inside);
      }
    }
    return made;
  }

  void add_values(Json& made) {
    if (chance(2)) {
      made["type"] =
          text({"null", "boolean", "integer", "number", "string", "array", "object", "object"});
      return;
    }
    if (draft_ >= 6 && chance(3)) {
      made["const"] = value();
      return;
    }
    if (chance(2)) {
      Json types = Json::array();
      for (const char* type : {"null", "integer", "string", "array", "object"}) {
        if (chance(2)) types.push_back(type);
      }
      if (!types.empty()) made["type"] = types;
      return;
    }
    Json list = Json::array();
    for (int i = 1 + small(3); i > 0; --i) list.push_back(value());
    made["enum"] = list;
  }

  void add_numbers(Json& made) {
    const char* bounds[] = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"};
    const size_t at = rng_.below(5);
    if (at == 4) {
      made["multipleOf"] = chance(2) ? Json(2) : Json(0.5);
    } else if (draft_ > 4) {
      made[bounds[at]] = chance(4) ? Json(1.5) : Json(small(3));
    } else {
      made[bounds[at % 2]] = small(3);
      if (chance(2)) made[bounds[at % 2 + 2]] = chance(2);
    }
  }

  void add_texts(Json& made) {
    switch (rng_.below(3)) {
      case 0:
        made["minLength"] = small(2);
        break;
      case 1:
        made["maxLength"] = small(2);
        break;
      default:
        made["pattern"] = text({"^a", "b$", "a", "^.$", "^ab?$"});
    }
  }

  void add_items(Json& made, int depth, bool inside) {
    switch (rng_.below(draft_ >= 2019 ? 9 : draft_ >= 6 ? 7 : 5)) {
      case 0:
        made["items"] = schema(depth - 1, true);
        break;
      case 1:
        made[draft_ >= 2020 ? "prefixItems" : "items"] = schemas(depth, true);
        if (chance(2)) {
          made[draft_ >= 2020 ? "items" : "additionalItems"] = schema(depth - 1, true);
        }
        break;
      case 2:
        made["minItems"] = small(2);
        break;
      case 3:
        made["maxItems"] = small(3);
        break;
      case 4:
        made["uniqueItems"] = true;
        if (chance(2)) made["items"] = Json(Json::List{{"enum", Json::array({1, 2, "a"})}});
        break;
      case 8:
        made["unevaluatedItems"] = schema(depth - 1, true);
        if (chance(2)) add_choice(made, depth, inside);
        break;
      default:
        made["contains"] = schema(depth - 1, true);
        if (draft_ >= 2019 && chance(2)) made["maxContains"] = small(2);
        if (draft_ >= 2019 && chance(2)) made["minContains"] = small(2);
    }
  }

  void add_members(Json& made, int depth, bool inside) {
    switch (rng_.below(draft_ >= 2019 ? 11 : draft_ >= 6 ? 9 : 8)) {
      case 0:
      case 1:
        made["properties"] = by_key(depth, true);
        if (chance(2)) made["required"] = keys();
        break;
      case 2: {
        Json patterns = Json::object();
        patterns[text({"^a", "b$", "a", "^.$"}).text()] = schema(depth - 1, true);
        made["patternProperties"] = patterns;
        break;
      }
      case 3:
        made["additionalProperties"] = chance(2) ? Json(false) : schema(depth - 1, true);
        break;
      case 4:
        made["required"] = keys();
        break;
      case 5:
        made["minProperties"] = small(3);
        break;
      case 6:
        made["maxProperties"] = small(2);
        break;
      case 7:
        add_dependencies(made, depth, inside);
        break;
      case 8:
        made["propertyNames"] = schema(0, true);
        break;
      default:
        made["unevaluatedProperties"] = chance(2) ? Json(false) : schema(depth - 1, true);
        add_choice(made, depth, inside);
    }
  }

  void add_dependencies(Json& made, int depth, bool inside) {
    Json needed = Json::object();
    needed[key()] = keys();
    if (draft_ <= 7) {
      if (chance(2)) needed[key()] = schema(depth - 1, inside);
      made["dependencies"] = needed;
    } else if (chance(2)) {
      made["dependentRequired"] = needed;
    } else {
      made["dependentSchemas"] = by_key(depth, inside);
    }
  }

  void add_choice(Json& made, int depth, bool inside) {
    switch (rng_.below(draft_ >= 7 ? 8 : 6)) {
      case 0:
        made["allOf"] = schemas(depth, inside);
        break;
      case 1:
      case 2:
        made["anyOf"] = schemas(depth, inside);
        break;
      case 3:
      case 4:
        made["oneOf"] = schemas(depth, inside);
        break;
      case 5:
        made["not"] = schema(depth - 1, inside);
        break;
      default:
        made["if"] = schema(depth - 1, inside);
        if (!chance(3)) made["then"] = schema(depth - 1, inside);
        if (!chance(3)) made["else"] = schema(depth - 1, inside);
    }
  }

  Rng& rng_;
  int draft_;
  bool may_refer_ = false;
  bool in_definition_ = false;
};

// Scalars, arrays of up to three of some of these, objects of all combinations of three keys and
// some values, and some of these one inside another.
inline std::vector<Json> small_documents() {
  std::vector<Json> made = {nullptr, true, false, 0, 1, 2, 3, 4, 1.5, "", "a", "b", "ab", "ba"};
  const std::vector<Json> scalars = made;
  const std::vector<Json> few = {
      1, 2, "a", true, Json::array(), Json::object(), Json(Json::List{{"a", 1}}), Json::array({1})};
  made.push_back(Json::array());
  for (const Json& a : scalars) made.push_back(Json::array({a}));
  for (const Json& a : few) {
    made.push_back(Json::array({a}));
    for (const Json& b : few) made.push_back(Json::array({a, b}));
  }
  const Json three[] = {1, 2, "a"};
  for (int i = 0; i < 27; ++i) {
    made.push_back(Json::array({three[i % 3], three[i / 3 % 3], three[i / 9]}));
  }
  // nullopt is a member left out.
  const std::vector<Json> values = {1, 2, "a", Json::object(), Json(Json::List{{"a", 1}})};
  const size_t n = values.size() + 1;
  for (size_t i = 0; i < n * n * n; ++i) {
    Json object = Json::object();
    const size_t which[] = {i % n, i / n % n, i / n / n};
    constexpr const char* kNames[] = {"a", "b", "ab"};
    for (int key = 0; key < 3; ++key) {
      if (which[key] > 0) object[kNames[key]] = values[which[key] - 1];
    }
    made.push_back(std::move(object));
  }
  for (const Json& value : scalars) {
    for (const char* key : {"a", "b", "ab", "c", ""}) {
      Json object = Json::object();
      object[key] = value;
      made.push_back(Json::array({object}));
      made.push_back(std::move(object));
    }
  }
  return made;
}

// One of the texts of a document: members in a random order, spaces now and then where `flexible`.
inline std::string random_spelling(const Json& json, Rng& rng, bool flexible) {
  if (!json.is_array() && !json.is_object()) return json.dump();
  std::vector<std::string> parts;
  if (json.is_array()) {
    for (const Json& item : json) parts.push_back(random_spelling(item, rng, flexible));
  } else {
    for (const auto& [key, value] : json.items()) {
      const char* colon = flexible && rng.below(2) == 0 ? ": " : ":";
      parts.push_back(Json(key).dump() + colon + random_spelling(value, rng, flexible));
    }
    for (size_t i = parts.size(); i > 1; --i) std::swap(parts[i - 1], parts[rng.below(i)]);
  }
  const auto space = [&] {
    constexpr const char* kSpaces[] = {"", " ", "\n  ", "\n"};
    return std::string(flexible ? kSpaces[rng.below(4)] : "");
  };
  std::string made(1, json.is_array() ? '[' : '{');
  if (!parts.empty()) made += space();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) made += "," + space();
    made += parts[i];
  }
  if (!parts.empty()) made += space();
  return made + (json.is_array() ? ']' : '}');
}

}  // namespace ruv
