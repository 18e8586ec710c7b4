// Functions that the Responses API groups: a tool of the type `namespace` has functions of its own,
// and calls of these say whose they are. The model knows such a function as "namespace__function".
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "net/api_error.h"

namespace ruv {

// As the model knows the function; an empty group has no part in it.
std::string grouped_name(std::string_view group, std::string_view name);
// The same of a call among the items of a conversation. Fails: 400 naming the member.
ApiResult<std::string> called_name(const Json& item, const std::string& where);

// The two names of a function that the model has called.
struct GroupedFunction {
  std::string_view group;  // empty: none
  std::string_view name;
};
// Requires: a list that has been read as tools. The names last as long as the list and `name`.
GroupedFunction function_of_call(const Json& tools, std::string_view name);

}  // namespace ruv
