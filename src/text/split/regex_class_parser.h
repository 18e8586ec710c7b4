// Reads the parts of a splitting pattern that mean one character: escapes and classes in brackets.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/split/code_point_set.h"

namespace ruv {

// Reads from a pattern it does not own; the parser of whole patterns shares the place.
class RegexClassParser {
 public:
  explicit RegexClassParser(std::string_view pattern) : pattern_(pattern) {}

  bool done() const { return at_ == pattern_.size(); }
  bool next_is(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  // Takes `text` if it comes next.
  bool take(std::string_view text);
  // The next character. Fails: corrupt (the pattern ends, or is not UTF-8).
  Result<uint32_t> take_character();
  // The position in the pattern, in bytes, and a way back to an earlier one.
  size_t at() const { return at_; }
  void move_to(size_t at) { at_ = at; }
  std::string_view from(size_t at) const { return pattern_.substr(at, at_ - at); }

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

  // An error of the form: regex "…": byte 7: what.
  tl::unexpected<Status> error(Code code, std::string_view what) const;

 private:
  Result<CodePointSet> take_class_items(bool any_case, int depth);
  Result<Atom> take_class_item(bool any_case, int depth);
  Result<Atom> take_posix_class();
  Result<Atom> take_property(bool negated);
  Result<Atom> take_hex(size_t min_digits, size_t max_digits);
  Result<Atom> take_octal();

  std::string_view pattern_;
  size_t at_ = 0;
};

}  // namespace ruv
