#include "chat/tools/tool_schemas.h"

#include "base/json.h"

namespace ruv {

ToolSchemas::ToolSchemas(const Json& tools) {
  if (!tools.is_array()) return;
  for (const Json& tool : tools) {
    if (!tool.is_object()) continue;
    const Json* function = tool.find("function");
    if (function == nullptr) function = &tool;
    const Json* name = function->is_object() ? function->find("name") : nullptr;
    if (name == nullptr || !name->is_string()) continue;
    const Json* parameters = function->find("parameters");
    by_name_[name->get<std::string>()] =
        std::make_shared<const Json>(parameters != nullptr ? *parameters : Json());
  }
}

SchemaPlace ToolSchemas::of(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || !found->second->is_object()) return {};
  return {found->second.get(), found->second.get()};
}

}  // namespace ruv
