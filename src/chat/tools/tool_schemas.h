// ToolSchemas: the tools of a request, by name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "chat/tools/schema_types.h"

namespace ruv {

class ToolSchemas {
 public:
  // `tools`: a list of {"type": "function", "function": {"name", "parameters"}}, or of the
  // functions themselves. Entries of other shapes are left out. Copies what it needs.
  explicit ToolSchemas(const Json& tools);
  ToolSchemas() = default;

  // Whether the request has tools, and one of this name.
  bool empty() const { return by_name_.empty(); }
  bool has(std::string_view name) const { return by_name_.find(name) != by_name_.end(); }
  // The schema of a tool's arguments; of unknown tools: anything is allowed. Valid while this
  // lives.
  SchemaPlace of(std::string_view name) const;

 private:
  std::map<std::string, std::shared_ptr<const Json>, std::less<>> by_name_;
};

}  // namespace ruv
