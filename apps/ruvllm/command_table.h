// The table of subcommands.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "option_help.h"

namespace ruv {

struct Subcommand {
  const char* name;
  int (*function)(int argc, char** argv);
  const char* help;   // a line of the list of commands
  const char* group;  // in that list; empty: not shown
};

// In the order in which they are listed.
std::span<const Subcommand> subcommands();
// Null: there is none.
const Subcommand* find_subcommand(std::string_view name);
// What to use for a command of llama.cpp or Ollama; empty: the name is not known.
std::string command_advice(std::string_view name);

// One subcommand, and all that are shown.
CommandHelp command_help(const Subcommand& command);
std::vector<CommandHelp> all_command_help();

// What `ruvllm help` prints.
std::string program_help(size_t width);

}  // namespace ruv
