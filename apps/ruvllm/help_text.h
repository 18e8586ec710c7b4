// The help of a subcommand for a window of some width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "option_help.h"

namespace ruv {

// Words of a text in lines of at most `width` columns where they fit; all lines but the first are
// indented. Ends without a line break.
std::string wrapped(std::string_view text, size_t width, size_t indent);

// "-m, --model TEXT".
std::string option_head(const OptionHelp& row);
// "ruvllm run [OPTIONS] [text]...".
std::string usage_line(const CommandHelp& command);
std::string help_text(const CommandHelp& command, size_t width);

}  // namespace ruv
