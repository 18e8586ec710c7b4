#include "grammar/json/json_text.h"

#include <array>

#include "base/json.h"
#include "base/utf8.h"

namespace ruv {
namespace {

constexpr uint32_t kMaxIndent = 32;
constexpr uint32_t kMaxBlanks = 32;

// What may be between a bracket or a comma and what follows.
Language line_space(Languages& l, JsonSpacing spacing) {
  const Language blank = l.byte_of(ByteSet::of(' ') | ByteSet::of('\t'));
  switch (spacing) {
    case JsonSpacing::compact:
      return Language::empty;
    case JsonSpacing::flexible:
      return l.optional(l.concat(
          std::array{l.optional(l.text("\r")), l.text("\n"), l.repeat(blank, 0, kMaxIndent)}));
    case JsonSpacing::any:
      break;
  }
  const ByteSet any = ByteSet::of(' ') | ByteSet::of('\t') | ByteSet::of('\n') | ByteSet::of('\r');
  return l.repeat(l.byte_of(any), 0, kMaxBlanks);
}

}  // namespace

// Everything that spaces may be in is made once.
JsonText::JsonText(Languages& languages, JsonStyle style)
    : l_(languages), style_(style), alphabet_(style.escapes) {
  character_ = alphabet_.character(l_, CodePointSet::of(0, kLastCodePoint));
  any_string_ = l_.star(character_);
  line_ = line_space(l_, style.spacing);
  const bool flexible = style.spacing == JsonSpacing::flexible;
  const Language one_space = flexible ? l_.text(" ") : Language::nothing;
  line_ = l_.any_of(line_, one_space);
  const Language before = style.spacing == JsonSpacing::any ? line_ : Language::empty;
  const Language after_colon = flexible ? l_.optional(one_space) : line_;
  comma_ = l_.concat(std::array{before, l_.text(","), line_});
  colon_ = l_.concat(std::array{before, l_.text(":"), after_colon});
}

Language JsonText::string(std::string_view text) {
  if (style_.escapes == JsonEscapes::needed) return l_.text(escape_json(text));
  std::vector<Language> parts;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    parts.push_back(alphabet_.character(l_, CodePointSet::of(c.value, c.value)));
    at += c.size;
  }
  return l_.concat(parts);
}

Language JsonText::string_of_length(uint32_t min, uint32_t max) {
  return min > max ? Language::nothing : l_.repeat(character_, min, max);
}

Language JsonText::quoted(Language inside) {
  const Language quote = l_.text("\"");
  return l_.concat(std::array{quote, inside, quote});
}

Language JsonText::open(char bracket) {
  return l_.concat(l_.text(std::string_view(&bracket, 1)), line_);
}

Language JsonText::close(char bracket) {
  return l_.concat(line_, l_.text(std::string_view(&bracket, 1)));
}

// Control characters without a letter of their own have four digits.
std::string escape_json(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  std::string out;
  for (const char c : text) {
    const size_t at = kEscaped.find(c);
    const auto byte = static_cast<uint8_t>(c);
    if (at != std::string_view::npos) {
      out.append("\\").push_back(kLetters[at]);
    } else if (byte < 0x20) {
      out.append("\\u00").push_back(kDigits[byte / 16]);
      out.push_back(kDigits[byte % 16]);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::optional<std::string> unescape_json(std::string_view inside) {
  if (inside.find('\\') == std::string_view::npos) return std::string(inside);
  std::string quoted = "\"";
  quoted.append(inside).push_back('"');
  const Result<Json> read = parse_json(quoted, "string");
  if (!read || !read->is_string()) return std::nullopt;
  return std::string(read->text());
}

}  // namespace ruv
