// Names of options in other programs, for those that a user types here out of habit.
#pragma once

#include <string>
#include <string_view>

#include "option_help.h"

namespace ruv {

// What to use for an option of llama.cpp or Ollama that this subcommand does not have, or why there
// is nothing: "here it is --ctx". Empty: the name is not known.
std::string advice_on(std::string_view option, const CommandHelp& command);

}  // namespace ruv
