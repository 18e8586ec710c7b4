// Surrogate pairs written as two \u escapes become one character; a lone half becomes U+FFFD.
#include "chat/jinja/escapes.h"

#include <charconv>
#include <optional>

#include "base/utf8.h"

namespace ruv::jinja {

namespace {

// Exactly `n` hex digits at text[at].
std::optional<uint32_t> hex_digits(std::string_view text, size_t at, size_t n) {
  if (at + n > text.size()) return std::nullopt;
  uint32_t value = 0;
  const char* end = text.data() + at + n;
  const auto [stop, code] = std::from_chars(text.data() + at, end, value, 16);
  if (code != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool is_high(uint32_t c) { return c >= 0xD800 && c < 0xDC00; }
bool is_low(uint32_t c) { return c >= 0xDC00 && c < 0xE000; }

// The character of \x, \u or \U. `at` is after the letter and moves past the digits.
Result<uint32_t> numbered(std::string_view text, char letter, size_t& at) {
  const size_t n = letter == 'x' ? 2 : letter == 'u' ? 4 : 8;
  const std::optional<uint32_t> value = hex_digits(text, at, n);
  if (!value) return fail(Code::corrupt, "\\{} needs {} hex digits", letter, n);
  at += n;
  if (*value > 0x10FFFF) return fail(Code::corrupt, "\\{} is above U+10FFFF", letter);
  if (is_high(*value) && text.substr(at).starts_with("\\u")) {
    const std::optional<uint32_t> low = hex_digits(text, at + 2, 4);
    if (low && is_low(*low)) {
      at += 6;
      return 0x10000 + ((*value - 0xD800) << 10) + (*low - 0xDC00);
    }
  }
  return is_high(*value) || is_low(*value) ? kReplacement : *value;
}

uint32_t octal(std::string_view text, size_t& at) {
  uint32_t value = 0;
  for (int i = 0; i < 3 && at < text.size() && text[at] >= '0' && text[at] <= '7'; ++i)
    value = value * 8 + static_cast<uint32_t>(text[at++] - '0');
  return value;
}

}  // namespace

std::string numbered_escape(uint32_t c) {
  if (c < 0x100) return fmt::format("\\x{:02x}", c);
  if (c < 0x10000) return fmt::format("\\u{:04x}", c);
  return fmt::format("\\U{:08x}", c);
}

Result<std::string> unescaped(std::string_view text) {
  static constexpr std::string_view kLetters = "nrtabfv\\'\"";
  static constexpr std::string_view kValues = "\n\r\t\a\b\f\v\\'\"";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\' || at + 1 >= text.size()) {
      out += text[at++];
      continue;
    }
    const char letter = text[at + 1];
    at += 2;
    if (const size_t known = kLetters.find(letter); known != std::string_view::npos) {
      out += kValues[known];
    } else if (letter == 'x' || letter == 'u' || letter == 'U') {
      append_utf8(out, TRY(numbered(text, letter, at)));
    } else if (letter >= '0' && letter <= '7') {
      --at;
      append_utf8(out, octal(text, at));
    } else if (letter == 'N') {
      return fail(Code::unsupported, "\\N escapes are not supported; write the character itself");
    } else if (static_cast<unsigned char>(letter) >= 0x80) {
      // Jinja makes characters beyond ASCII escapes before it reads escapes, so one after a
      // backslash shows as letters.
      const CodePoint c = decode_utf8(text, at - 1);
      at += c.size - 1;
      out += numbered_escape(c.value);
    } else if (letter != '\n') {
      out += '\\';
      out += letter;
    }
  }
  return out;
}

}  // namespace ruv::jinja
