// CommandTool: a tool that is a program, run in a sandbox.
#pragma once

#include <memory>
#include <vector>

#include "tools/command_spec.h"

namespace ruv {

class CommandTool final : public Tool {
 public:
  // `sandbox` null: the program runs as the user, with all the user's rights; of the limits those
  // of time, output, memory, processor and file sizes hold, of folders and the network none. Only
  // for users who have asked for it.
  CommandTool(CommandSpec spec, std::shared_ptr<const Sandbox> sandbox)
      : spec_(std::move(spec)), sandbox_(std::move(sandbox)) {}

  const ToolSpec& spec() const override { return spec_.tool; }
  // A program that fails or passes a limit gives a reply that says so, with what it wrote.
  Result<ToolReply> call(const Json& arguments, const ToolCallTerms& terms) override;

 private:
  CommandSpec spec_;
  std::shared_ptr<const Sandbox> sandbox_;
};

// The tools of a file. Without a sandbox they all need consent. Fails: as read_command_specs;
// unsupported, where there is no sandbox and `unsandboxed` is false; and as read_text_file.
Result<std::vector<std::shared_ptr<Tool>>> open_command_tools(const std::string& path,
                                                              bool unsandboxed = false);

}  // namespace ruv
