// Consent: what the person at the terminal allows.
#pragma once

#include <set>
#include <string>

#include "command_line.h"
#include "tools/tool_loop.h"

namespace ruv {

// Asks the person at the terminal whether something may be done that cannot be undone. `all`: yes,
// without asking. Where there is no terminal to ask at the answer is no, and that is said. Main
// thread only.
bool has_consent(const CommandLine& line, const std::string& question, bool all);

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
