// Typed access to members of a simdjson document, as the readers of tokenizer files use it.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string_view>
#include <vector>

namespace ruv {

using JsonElement = simdjson::dom::element;
using JsonArray = simdjson::dom::array;
using JsonObject = simdjson::dom::object;

// The member as T (std::string_view, bool, int64_t, double, JsonArray, JsonObject); nothing when it
// is absent, null or of another type.
template <class T>
std::optional<T> member(const JsonElement& object, std::string_view key) {
  T value;
  if (object[key].get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

inline bool flag_of(const JsonElement& object, std::string_view key, bool otherwise) {
  return member<bool>(object, key).value_or(otherwise);
}

inline std::string_view text_of(const JsonElement& object, std::string_view key) {
  return member<std::string_view>(object, key).value_or("");
}

// The steps of a part of tokenizer.json: the members of a Sequence, the part itself, or none.
inline std::vector<JsonElement> steps_of(const JsonElement& root, std::string_view part,
                                         std::string_view list) {
  JsonElement step;
  if (root[part].get(step) != simdjson::SUCCESS || step.is_null()) return {};
  const std::optional<JsonArray> nested = member<JsonArray>(step, list);
  if (!nested) return {step};
  return {nested->begin(), nested->end()};
}

}  // namespace ruv
