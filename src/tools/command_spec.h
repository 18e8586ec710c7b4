// Descriptions of tools that are programs, as a JSON file has them:
//
//   {"tools": [{
//     "name": "count_words", "description": "Counts the words of a text.",
//     "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
//     "command": ["/opt/tools/count_words", "--json"],
//     "limits": {"wall_s": 30, "cpu_s": 30, "memory_mb": 512, "output_kb": 1024, "file_mb": 64,
//                "processes": 64},
//     "read_only": ["/srv/texts"], "writable": [], "network": false,
//     "environment": {"LANG": "C.UTF-8"}, "folder": "/srv/texts", "consent": false
//   }]}
//
// The program reads the arguments of a call as one JSON object from its standard input and writes
// its answer as text to its standard output. An exit code other than 0 is an error, whose text is
// what it wrote to both outputs. "name", "description" and "command" are required; the others have
// the values above, with no folders and no environment of its own, and /tmp as "folder". Limits of
// processor time and file sizes are those of each process; that of memory is one of the addresses
// of each process, and of the memory of all together. "consent" says whether a person has to agree
// to each call: true where it is absent and the program has a network or a writable folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/run_program.h"
#include "tools/sandbox.h"
#include "tools/tool.h"

namespace ruv {

struct CommandSpec {
  ToolSpec tool;
  std::vector<std::string> argv;         // argv[0] is absolute, or a name without '/'
  std::vector<std::string> environment;  // "NAME=value", with PATH, HOME, TMPDIR and LANG
  ProcessLimits process;
  ProgramLimits program;
  SandboxRules sandbox;
};

// The tools in the text of a file. `source` is quoted in errors. Fails: corrupt (not JSON), invalid
// (a field, by name; unknown fields too).
Result<std::vector<CommandSpec>> read_command_specs(std::string_view json, std::string_view source);

}  // namespace ruv
