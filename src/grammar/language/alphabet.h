// PatternAlphabet: how characters of patterns are written as bytes: as UTF-8, or as in a JSON
// string.
#pragma once

#include "grammar/language/languages.h"
#include "text/split/code_point_set.h"

namespace ruv {

class PatternAlphabet {
 public:
  virtual ~PatternAlphabet() = default;
  // One character of the set, in all its spellings. Different characters have no spelling in
  // common, and no spelling begins with another.
  virtual Language character(Languages& languages, const CodePointSet& set) const = 0;
};

// UTF-8, where a character has one spelling of one to four bytes. Surrogates have none. The
// language of a set has few nodes: first bytes after which the same bytes may follow are one set.
class Utf8Alphabet final : public PatternAlphabet {
 public:
  Language character(Languages& languages, const CodePointSet& set) const override;
};

}  // namespace ruv
