#include "net/responses/tool_namespaces.h"

#include "net/openai/translate.h"

namespace ruv {
namespace {

constexpr std::string_view kBetween = "__";

// The function of a tool of the type `namespace`, or nothing.
const Json* find_function(const Json& group, std::string_view name) {
  for (const Json& function : group.at("tools")) {
    if (function.at("name").text() == name) return &function;
  }
  return nullptr;
}

}  // namespace

std::string grouped_name(std::string_view group, std::string_view name) {
  std::string whole(group);
  if (!group.empty()) whole += kBetween;
  return whole += name;
}

ApiResult<std::string> called_name(const Json& item, const std::string& where) {
  const std::string name = TRY(text_member(item, "name", where));
  if (find_field(item, "namespace") == nullptr) return name;
  const std::string group = TRY(text_member(item, "namespace", where));
  return grouped_name(group, name);
}

GroupedFunction function_of_call(const Json& tools, std::string_view name) {
  for (const Json& tool : tools) {
    if (tool.at("type") != "namespace") continue;
    const std::string_view group = tool.at("name").text();
    const std::string prefix = grouped_name(group, "");
    if (!name.starts_with(prefix)) continue;
    if (const Json* function = find_function(tool, name.substr(prefix.size()))) {
      return {group, function->at("name").text()};
    }
  }
  return {{}, name};
}

}  // namespace ruv
