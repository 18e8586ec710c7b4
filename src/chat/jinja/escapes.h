// Backslash escapes of string literals, read as Python reads them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv::jinja {

// Knows \n \r \t \a \b \f \v \\ \' \" \ooo \xhh \uhhhh \Uhhhhhhhh and a backslash before a line
// break; an unknown escape keeps its backslash. Fails: corrupt (digits missing), unsupported (\N).
Result<std::string> unescaped(std::string_view text);

}  // namespace ruv::jinja
