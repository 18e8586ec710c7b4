// For tests: a tool whose answer is a function.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "tools/tool.h"

namespace ruv {

class ScriptedTool final : public Tool {
 public:
  using Answer = std::function<Result<ToolReply>(const Json&, const ToolCallTerms&)>;
  ScriptedTool(ToolSpec spec, Answer answer) : spec_(std::move(spec)), answer_(std::move(answer)) {}

  const ToolSpec& spec() const override { return spec_; }
  Result<ToolReply> call(const Json& arguments, const ToolCallTerms& terms) override {
    return answer_(arguments, terms);
  }

 private:
  ToolSpec spec_;
  Answer answer_;
};

// A tool that returns its arguments.
inline std::shared_ptr<Tool> echo_tool(std::string name) {
  return std::make_shared<ScriptedTool>(
      ToolSpec{.name = std::move(name), .description = "Returns its arguments."},
      [](const Json& arguments, const ToolCallTerms&) { return ToolReply{arguments.dump()}; });
}

}  // namespace ruv
