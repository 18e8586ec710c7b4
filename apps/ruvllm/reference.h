// Texts that are made from the table of subcommands and options: the reference page docs/cli.md,
// manual pages, and completions of shells.
#pragma once

#include <span>
#include <string>

#include "command_table.h"
#include "option_help.h"

namespace ruv {

// Markdown: a section for each command, and how settings rank.
std::string reference_page(std::span<const CommandHelp> commands);

// roff with the macros of man(7). The first is the page of the program, which lists the others.
std::string program_manual(std::span<const CommandHelp> commands);
std::string command_manual(const CommandHelp& command);

// Scripts that the shell reads at its start, or looks up by name.
std::string bash_completion(std::span<const CommandHelp> commands);
std::string zsh_completion(std::span<const CommandHelp> commands);
std::string fish_completion(std::span<const CommandHelp> commands);

}  // namespace ruv
