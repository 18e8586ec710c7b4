// The existing name that a misspelt one most likely means.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ruv {

// The one name that begins with what was written, else the nearest by edits (a letter more, less,
// another one, two exchanged), if near enough to be meant. Empty: none is.
std::string nearest_name(std::string_view written, std::span<const std::string> names);

}  // namespace ruv
