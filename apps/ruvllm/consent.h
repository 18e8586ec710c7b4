// Consent: asks the person at the terminal whether a call may run.
#pragma once

#include <set>
#include <string>

#include "command_line.h"
#include "tools/tool_loop.h"

namespace ruv {

class Consent {
 public:
  // `all`: every call may run. Where there is no terminal to ask at, none may, and that is
  // said.
  Consent(const CommandLine& line, bool all);

  // Shows the whole call and waits for an answer. Ctrl-C is a no. Main thread only.
  bool ask(const ToolRequest& call, const RegisteredTool& tool);

 private:
  const CommandLine& line_;
  bool all_;
  bool has_person_;               // stdin and stderr are terminals
  std::set<std::string> always_;  // tools, each as it was when "always" was said
};

}  // namespace ruv
