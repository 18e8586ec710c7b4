// Backslash escapes of string literals, read as Python reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv::jinja {

// Knows \n \r \t \a \b \f \v \\ \' \" \ooo \xhh \uhhhh \Uhhhhhhhh and a backslash before a line
// break; an unknown escape keeps its backslash. Fails: corrupt (digits missing), unsupported (\N).
Result<std::string> unescaped(std::string_view text);

// The escape \xhh, \uhhhh or \Uhhhhhhhh of a character, the shortest that holds it.
std::string numbered_escape(uint32_t c);

}  // namespace ruv::jinja
