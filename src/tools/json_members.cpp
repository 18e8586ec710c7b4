#include "tools/json_members.h"

#include <algorithm>

namespace ruv {

// The first member that is not known, in the order of the text.
FieldResult<void> check_member_names(const Json& object,
                                     std::initializer_list<std::string_view> names) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(names.begin(), names.end(), key) == names.end())
      return unknown_field(std::string(key));
  }
  return {};
}

// An empty text counts as given: whether it makes sense is for the caller to say.
FieldResult<std::string> required_text(const Json& object, std::string_view name) {
  if (find_field(object, name) == nullptr) return missing_field(std::string(name));
  return optional_text(object, name);
}

FieldResult<std::string> optional_text(const Json& object, std::string_view name) {
  const Json* value = find_field(object, name);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return wrong_type(std::string(name), "a string", *value);
  return value->get<std::string>();
}

FieldResult<std::vector<std::string>> optional_texts(const Json& object, std::string_view name) {
  std::vector<std::string> texts;
  // Absent and null are the same, as everywhere in this library.
  const Json* value = find_field(object, name);
  if (value == nullptr) return texts;
  if (!value->is_array()) return wrong_type(std::string(name), "a list of strings", *value);
  for (const Json& text : *value) {
    if (!text.is_string())
      return wrong_type(fmt::format("{}[{}]", name, texts.size()), "a string", text);
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

FieldResult<std::vector<std::pair<std::string, std::string>>> optional_text_members(
    const Json& object, std::string_view name) {
  std::vector<std::pair<std::string, std::string>> members;
  const Json* value = TRY(optional_object(object, name));
  if (value == nullptr) return members;
  for (const auto& [key, text] : value->items()) {
    if (!text.is_string()) return wrong_type(fmt::format("{}.{}", name, key), "a string", text);
    members.emplace_back(key, text.get<std::string>());
  }
  return members;
}

FieldResult<const Json*> optional_object(const Json& object, std::string_view name) {
  const Json* value = find_field(object, name);
  if (value != nullptr && !value->is_object())
    return wrong_type(std::string(name), "an object", *value);
  return value;
}

}  // namespace ruv
