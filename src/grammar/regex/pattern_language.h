// The language of a pattern: the texts that it matches, with anchors, word edges and lookahead.
#pragma once

#include "grammar/language/alphabet.h"
#include "grammar/regex/pattern.h"

namespace ruv {

enum class PatternMatch : uint8_t {
  whole,     // the pattern matches the whole text
  anywhere,  // it matches somewhere in the text, as JSON Schema's `pattern` does
};

// Texts are of the alphabet's characters; where the pattern may match anywhere, the text around a
// match is any of them. Time and nodes are linear in the pattern, but loops around anchors or
// lookahead with a limit are unrolled, and those without one become equations. Fails: unsupported
// (such loops of more than 32 rounds, with rounds that may be empty, or without limit and nested
// deeper than 3; too large).
Result<Language> language_of(Languages& languages, const Pattern& pattern,
                             const PatternAlphabet& alphabet, PatternMatch match);

}  // namespace ruv
