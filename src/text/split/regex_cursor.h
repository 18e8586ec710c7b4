// RegexCursor: a place in a regular expression that is being read. What readers of every syntax
// share: taking what comes next, and errors that show the pattern and name the byte.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"

namespace ruv {

// Reads from a pattern it does not own.
class RegexCursor {
 public:
  explicit RegexCursor(std::string_view pattern) : pattern_(pattern) {}

  bool done() const { return at_ == pattern_.size(); }
  bool next_is(std::string_view text) const { return rest().starts_with(text); }
  // Takes `text` if it comes next.
  bool take(std::string_view text);
  // The next character. Fails: corrupt (the pattern ends, or is not UTF-8).
  Result<uint32_t> take_character();
  // A number of min to max hexadecimal digits. Fails: corrupt (too few, or no code point).
  Result<uint32_t> take_hex_digits(size_t min_digits, size_t max_digits);
  // The position in the pattern, in bytes, and a way back to an earlier one.
  size_t at() const { return at_; }
  void move_to(size_t at) { at_ = at; }
  std::string_view from(size_t at) const { return pattern_.substr(at, at_ - at); }
  std::string_view rest() const { return pattern_.substr(at_); }

  // An error of the form: regex "…": byte 7: what.
  tl::unexpected<Status> error(Code code, std::string_view what) const;

 private:
  std::string_view pattern_;
  size_t at_ = 0;
};

// \n, \t, … as code points; nothing for letters that are no such escape in all syntaxes.
std::optional<uint32_t> control_escape(uint32_t letter);
bool is_ascii_letter(uint32_t c);

}  // namespace ruv
