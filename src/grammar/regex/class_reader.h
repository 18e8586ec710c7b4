// ClassReader: reads the parts of a pattern that mean one character: characters, escapes and
// classes in brackets. The reader of whole patterns shares its position. Where case does not count,
// sets hold the other case of ASCII letters; characters of other scripts match as they are written.
// Malformed UTF-8 in a pattern is an error at its byte.
#pragma once

#include <optional>

#include "grammar/regex/pattern.h"
#include "text/split/regex_cursor.h"

namespace ruv {

class ClassReader : public RegexCursor {
 public:
  ClassReader(std::string_view text, const PatternOptions& options)
      : RegexCursor(text), options_(options) {}

  // A number of at most 9 digits, if one comes next.
  std::optional<uint32_t> take_number();

  // After a backslash: an escape that means a character or a set.
  Result<CodePointSet> take_escape();
  // After '['.
  Result<CodePointSet> take_class();
  // What a character in a pattern matches.
  CodePointSet matching(uint32_t character) const;

  bool any_case() const { return any_case_; }
  void set_any_case(bool on) { any_case_ = on; }

 private:
  struct Item {
    CodePointSet set;
    std::optional<uint32_t> character;  // of which ranges can be made
  };
  // Each takes what its name says at the cursor; sets do not have the other case yet.
  Result<Item> take_escaped(bool in_class);
  Result<Item> take_class_item();
  Result<Item> take_property(bool negated);
  Result<Item> take_unicode_escape();
  std::optional<CodePointSet> take_posix_class();
  CodePointSet with_case(CodePointSet set) const;
  bool is_ecma() const { return options_.syntax == PatternSyntax::ecma; }

  PatternOptions options_;
  bool any_case_ = options_.any_case;
};

// \d, \w and \s of a syntax; nothing for other letters.
std::optional<CodePointSet> shorthand_set(char letter, PatternSyntax syntax);

}  // namespace ruv
