// ClassReader: reads the parts of a pattern that mean one character: characters, escapes and
// classes in brackets. The reader of whole patterns shares its position. Where case does not count,
// sets hold the other case of ASCII letters; characters of other scripts match as they are written.
// Malformed UTF-8 in a pattern is an error at its byte.
#pragma once

#include <optional>

#include "grammar/regex/pattern.h"

namespace ruv {

class ClassReader {
 public:
  ClassReader(std::string_view text, const PatternOptions& options)
      : text_(text), options_(options) {}

  bool done() const { return at_ == text_.size(); }
  size_t at() const { return at_; }
  void move_to(size_t at) { at_ = at; }
  bool next_is(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  // Takes `what` if it comes next.
  bool take(std::string_view what);
  // The next character. Fails: corrupt (the pattern ends, or is not UTF-8).
  Result<uint32_t> take_character();
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
  tl::unexpected<Status> error(Code code, std::string_view what) const;

 private:
  struct Item {
    CodePointSet set;
    std::optional<uint32_t> character;  // of which ranges can be made
  };
  Result<Item> take_escaped(bool in_class);
  Result<Item> take_class_item();
  Result<Item> take_property(bool negated);
  Result<Item> take_unicode_escape();
  std::optional<CodePointSet> take_posix_class();
  Result<uint32_t> take_hex(size_t min_digits, size_t max_digits);
  CodePointSet with_case(CodePointSet set) const;
  bool is_ecma() const { return options_.syntax == PatternSyntax::ecma; }

  std::string_view text_;
  PatternOptions options_;
  bool any_case_ = options_.any_case;
  size_t at_ = 0;
};

// \d, \w and \s of a syntax; nothing for other letters.
std::optional<CodePointSet> shorthand_set(char letter, PatternSyntax syntax);

}  // namespace ruv
