// Unicode's named sets: general categories, the properties used by \s \d \w, and scripts.
// Categories are those of utf8proc's Unicode version and are collected once per process.
#pragma once

#include <optional>
#include <string_view>

#include "text/split/code_point_set.h"

namespace ruv {

// The set that \p{name} means: a category ("Lu", "letter"), a group of them ("L"), "Any", "ASCII",
// "White_Space", or a script ("Han"). Case, spaces, '-' and '_' in names do not count.
std::optional<CodePointSet> find_unicode_set(std::string_view name);

// \s, White_Space.
const CodePointSet& white_space();
// \w as Oniguruma has it: Alphabetic, marks, decimal digits, connector punctuation.
CodePointSet word_characters();

// The ranges of a script by its name in lower case; empty when it is unknown.
std::span<const CodePointRange> script_ranges(std::string_view name);

}  // namespace ruv
