// JsonAlphabet: characters of a string as JSON writes them. A pattern over decoded characters
// becomes a language over the bytes of the document, and its complement stays one: each document
// decodes to one text, so spellings of different characters never meet.
#pragma once

#include "grammar/language/alphabet.h"

namespace ruv {

enum class JsonEscapes : uint8_t {
  needed,  // each character in one spelling: escaped only where JSON demands it
  all,     // also \/ and \uXXXX for any character, in both cases of digits
};

class JsonAlphabet final : public PatternAlphabet {
 public:
  explicit JsonAlphabet(JsonEscapes escapes) : escapes_(escapes) {}
  Language character(Languages& languages, const CodePointSet& set) const override;

 private:
  JsonEscapes escapes_;
};

}  // namespace ruv
