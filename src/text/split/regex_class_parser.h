// Reads the parts of a splitting pattern that mean one character: escapes and classes in brackets.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/split/code_point_set.h"
#include "text/split/regex_cursor.h"

namespace ruv {

// The parser of whole patterns shares its place.
class RegexClassParser : public RegexCursor {
 public:
  using RegexCursor::RegexCursor;

  // One character, or a set of them.
  struct Atom {
    CodePointSet set;
    std::optional<uint32_t> literal;
  };
  // After a backslash: an escape that means a character or a set.
  Result<Atom> take_escape(bool in_class);
  // After '['. With `any_case`, ASCII letters match in both cases.
  Result<CodePointSet> take_class(bool any_case, int depth);
  // The set with the other case of ASCII letters, U+017F for s and U+212A for k.
  Result<CodePointSet> any_case(const CodePointSet& set) const;

 private:
  Result<CodePointSet> take_class_items(bool any_case, int depth);
  Result<Atom> take_class_item(bool any_case, int depth);
  Result<Atom> take_posix_class();
  Result<Atom> take_property(bool negated);
  Result<Atom> take_hex(size_t min_digits, size_t max_digits);
  Result<Atom> take_octal();
};

}  // namespace ruv
