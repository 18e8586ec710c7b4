// How far two names are apart, for finding the one that a misspelt or unknown name most likely
// means.
#pragma once

#include <cstddef>
#include <string_view>

namespace ruv {

// The fewest edits that make b of a: a byte more, less or another one, or two neighbours exchanged
// (optimal string alignment). Costs a.size() · b.size().
size_t edits_between(std::string_view a, std::string_view b);

}  // namespace ruv
