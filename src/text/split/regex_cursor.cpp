#include "text/split/regex_cursor.h"

#include "base/utf8.h"
#include "text/hex.h"
#include "text/split/code_point_set.h"

namespace ruv {

tl::unexpected<Status> RegexCursor::error(Code code, std::string_view what) const {
  constexpr size_t kShownBytes = 60;
  const std::string_view shown = pattern_.substr(0, kShownBytes);
  return fail(code, "regex \"{}{}\": byte {}: {}", to_valid_utf8(shown),
              shown.size() < pattern_.size() ? "…" : "", at_, what);
}

bool RegexCursor::take(std::string_view text) {
  if (!next_is(text)) return false;
  at_ += text.size();
  return true;
}

Result<uint32_t> RegexCursor::take_character() {
  if (done()) return error(Code::corrupt, "the pattern ends here, inside something");
  const CodePoint c = decode_utf8(pattern_, at_);
  if (!c.valid) return error(Code::corrupt, "not UTF-8");
  at_ += c.size;
  return c.value;
}

Result<uint32_t> RegexCursor::take_hex_digits(size_t min_digits, size_t max_digits) {
  const std::string_view digits = rest().substr(0, max_digits);
  size_t n = 0;
  while (n < digits.size() && hex_value(digits[n]) >= 0) ++n;
  const std::optional<uint32_t> value =
      n < min_digits ? std::nullopt : parse_hex(digits.substr(0, n));
  at_ += n;
  if (!value) return error(Code::corrupt, "hexadecimal digits are missing");
  if (*value > kLastCodePoint) return error(Code::corrupt, "beyond U+10FFFF");
  return *value;
}

std::optional<uint32_t> control_escape(uint32_t letter) {
  switch (letter) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    default:
      return std::nullopt;
  }
}

bool is_ascii_letter(uint32_t c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

}  // namespace ruv
