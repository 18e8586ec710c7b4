// Members of JSON objects from outside that are texts, lists of texts and objects, read as
// base/json_fields.h reads flags and integers: the error names the member.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_fields.h"

namespace ruv {

// Every member of the object has one of these names. Fails: unknown.
FieldResult<void> check_member_names(const Json& object,
                                     std::initializer_list<std::string_view> names);
// Fails: missing, wrong_type.
FieldResult<std::string> required_text(const Json& object, std::string_view name);
// Empty where it is absent or null. Fails: wrong_type.
FieldResult<std::string> optional_text(const Json& object, std::string_view name);
FieldResult<std::vector<std::string>> optional_texts(const Json& object, std::string_view name);
// Members of an object of texts, in order; none where it is absent.
FieldResult<std::vector<std::pair<std::string, std::string>>> optional_text_members(
    const Json& object, std::string_view name);
// Null where it is absent or null. Fails: wrong_type.
FieldResult<const Json*> optional_object(const Json& object, std::string_view name);

}  // namespace ruv
