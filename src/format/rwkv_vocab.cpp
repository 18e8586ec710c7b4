// Lines end in numbers, so the literal in between may contain anything, even spaces and quotes.
#include "format/rwkv_vocab.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "text/hex.h"

namespace ruv {
namespace {

bool parse_number(std::string_view text, uint32_t& number) {
  const char* end = text.data() + text.size();
  const auto [last, wrong] = std::from_chars(text.data(), end, number);
  return wrong == std::errc() && last == end && !text.empty();
}

// Hexadecimal digits after \x, \u, \U.
size_t digits_of(char escape) {
  if (escape == 'x') return 2;
  if (escape == 'u') return 4;
  return escape == 'U' ? 8 : 0;
}

// The character that `escape` stands for after a backslash: Python's letters, else itself.
char plain_escape(char escape) {
  switch (escape) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return escape;
  }
}

// The bytes between the quotes. In bytes \xHH is a byte, in a text a character.
std::optional<std::string> unescape(std::string_view text, bool is_bytes) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    const size_t n_digits = digits_of(text[i]);
    if (n_digits == 0) {
      out += plain_escape(text[i]);
      continue;
    }
    const std::string_view digits = text.substr(i + 1, n_digits);
    const std::optional<uint32_t> value = parse_hex(digits);
    if (digits.size() != n_digits || !value) return std::nullopt;
    if (*value > (is_bytes ? 0xFFU : 0x10FFFFU) || (is_bytes && n_digits > 2)) return std::nullopt;
    if (is_bytes) {
      out += static_cast<char>(*value);
    } else {
      append_utf8(out, *value);
    }
    i += n_digits;
  }
  return out;
}

struct Line {
  uint32_t id = 0;
  std::string bytes;
  uint32_t length = 0;
};

// From both ends towards the literal.
std::optional<Line> read_line(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == line.npos || first == last) return std::nullopt;
  Line out;
  if (!parse_number(line.substr(0, first), out.id)) return std::nullopt;
  if (!parse_number(line.substr(last + 1), out.length)) return std::nullopt;
  std::string_view literal = line.substr(first + 1, last - first - 1);
  const bool is_bytes = literal.starts_with('b');
  if (is_bytes) literal.remove_prefix(1);
  if (literal.size() < 2 || (literal[0] != '\'' && literal[0] != '"')) return std::nullopt;
  if (literal.back() != literal[0]) return std::nullopt;
  std::optional<std::string> bytes = unescape(literal.substr(1, literal.size() - 2), is_bytes);
  if (!bytes) return std::nullopt;
  out.bytes = std::move(*bytes);
  return out;
}

// Takes the next line off `text`.
std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

std::optional<std::string> unescape_rwkv(std::string_view text) { return unescape(text, true); }

bool looks_like_rwkv(std::string_view text) {
  text = text.substr(0, std::min<size_t>(text.size(), 4096));
  return read_line(take_line(text)).has_value();
}

Result<TokenizerSpec> tokenizer_spec_from_rwkv(std::string_view text, const std::string& source) {
  TokenizerSpec spec;
  spec.kind = TokenizerKind::rwkv_world;
  spec.raw_tokens = true;
  spec.tokens = {"<|endoftext|>"};
  spec.kinds = {TokenKind::control};
  spec.added = {{.id = 0, .text = spec.tokens[0], .special = true}};
  spec.eos = 0;
  // A line has 8 bytes at least.
  const size_t limit = text.size() / 4 + 1024;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty()) continue;
    std::optional<Line> entry = read_line(line);
    if (!entry) {
      return fail(Code::corrupt, "{}: line {}: no id, literal and length", source, number);
    }
    if (entry->bytes.empty() || entry->bytes.size() != entry->length) {
      return fail(Code::corrupt, "{}: line {}: {} bytes, but the line says {}", source, number,
                  entry->bytes.size(), entry->length);
    }
    if (entry->id == 0 || entry->id >= limit) {
      return fail(Code::corrupt, "{}: line {}: id {} is outside 1 to {}", source, number, entry->id,
                  limit - 1);
    }
    if (entry->id >= spec.tokens.size()) {
      spec.tokens.resize(entry->id + 1);
      spec.kinds.resize(entry->id + 1, TokenKind::unused);
    }
    if (spec.kinds[entry->id] != TokenKind::unused) {
      return fail(Code::corrupt, "{}: line {}: id {} appears twice", source, number, entry->id);
    }
    spec.tokens[entry->id] = std::move(entry->bytes);
    spec.kinds[entry->id] = TokenKind::normal;
  }
  if (spec.tokens.size() == 1) return fail(Code::corrupt, "{}: no tokens", source);
  return spec;
}

}  // namespace ruv
