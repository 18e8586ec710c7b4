// The bounds of a pattern's language, before it is made.
#pragma once

#include "grammar/regex/pattern.h"
#include "grammar/rules/bounded_languages.h"

namespace ruv {

// Requires: no node depends on its place (anchors, lookahead). Linear time.
LanguageBounds bounds_of_pattern(const Pattern& pattern);

}  // namespace ruv
