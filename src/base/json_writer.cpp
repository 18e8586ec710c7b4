#include "base/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <ostream>

#include "base/json.h"
#include "base/utf8.h"

namespace ruv {

namespace {

// Bytes that a JSON text contains as they are, whatever is around them.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

// A control character, quote or backslash.
void append_escaped(std::string& out, char c) {
  constexpr std::string_view kNamed = "\"\"\\\\\bb\ff\nn\rr\tt";
  for (size_t i = 0; i < kNamed.size(); i += 2) {
    if (kNamed[i] != c) continue;
    out += '\\';
    out += kNamed[i + 1];
    return;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u00";
  out += kDigits[static_cast<unsigned char>(c) >> 4];
  out += kDigits[static_cast<unsigned char>(c) & 15];
}

// Shortest digits that read back as the number, as 1.5, 100.0, 1e-07 or 1e+20.
void append_real(std::string& out, double value) {
  if (value == 0) {
    out += std::signbit(value) ? "-0.0" : "0.0";
    return;
  }
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                     std::chars_format::scientific);
  std::string_view text(buffer.data(), static_cast<size_t>(written.ptr - buffer.data()));
  if (text.starts_with('-')) {
    out += '-';
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(),
                  exponent);
  std::string digits(1, text[0]);
  if (e > 2) digits += text.substr(2, e - 2);
  const int n_digits = static_cast<int>(digits.size());
  const int point = exponent + 1;  // digits before the point
  if (point > 15 || point < -3) {
    out += text;
  } else if (point <= 0) {
    out += "0.";
    out.append(static_cast<size_t>(-point), '0');
    out += digits;
  } else if (point >= n_digits) {
    out += digits;
    out.append(static_cast<size_t>(point - n_digits), '0');
    out += ".0";
  } else {
    out.append(digits, 0, static_cast<size_t>(point));
    out += '.';
    out.append(digits, static_cast<size_t>(point));
  }
}

}  // namespace

// Copies runs of plain bytes at once.
void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  size_t at = 0;
  while (at < text.size()) {
    size_t end = at;
    while (end < text.size() && kPlain[static_cast<unsigned char>(text[end])]) ++end;
    out += text.substr(at, end - at);
    if (end == text.size()) break;
    at = end;
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      append_escaped(out, text[at++]);
      continue;
    }
    const CodePoint character = decode_utf8(text, at);
    if (character.valid) {
      out += text.substr(at, character.size);
    } else {
      append_utf8(out, kReplacement);
    }
    at += character.size;
  }
  out += '"';
}

// Nothing after a key or an opening bracket.
void JsonWriter::separate() {
  if (last_ == Last::value) out_ += ',';
  if (last_ != Last::key) new_line();
}

void JsonWriter::new_line() {
  if (indent_ < 0) return;
  out_ += '\n';
  out_.append(static_cast<size_t>(indent_ * depth_), ' ');
}

// A bracket is a value of the container around it.
void JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  ++depth_;
  last_ = Last::opening;
}

void JsonWriter::close(char bracket) {
  --depth_;
  if (last_ != Last::opening) new_line();
  out_ += bracket;
  last_ = Last::value;
}

void JsonWriter::key(std::string_view name) {
  separate();
  append_json_text(out_, name);
  out_ += indent_ < 0 ? ":" : ": ";
  last_ = Last::key;
}

void JsonWriter::word(std::string_view literal) {
  separate();
  out_ += literal;
  last_ = Last::value;
}

void JsonWriter::written_array(std::string_view values) {
  begin_array();
  out_ += values;
  if (!values.empty()) last_ = Last::value;
  end_array();
}

void JsonWriter::text_or_null(std::string_view value) {
  if (value.empty()) return null();
  text(value);
}

void JsonWriter::text(std::string_view value) {
  separate();
  append_json_text(out_, value);
  last_ = Last::value;
}

void JsonWriter::real(double value) {
  if (!std::isfinite(value)) return null();
  separate();
  append_real(out_, value);
  last_ = Last::value;
}

void JsonWriter::signed_integer(int64_t value) {
  std::array<char, 24> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  word({buffer.data(), static_cast<size_t>(end.ptr - buffer.data())});
}

void JsonWriter::unsigned_integer(uint64_t value) {
  std::array<char, 24> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  word({buffer.data(), static_cast<size_t>(end.ptr - buffer.data())});
}

// Walks a tree of values.
void JsonWriter::value(const Json& json) {
  switch (json.kind()) {
    case Json::Kind::null:
      return null();
    case Json::Kind::boolean:
      return boolean(json.get<bool>());
    case Json::Kind::integer:
      return integer(json.get<int64_t>());
    case Json::Kind::unsigned_integer:
      return integer(json.get<uint64_t>());
    case Json::Kind::real:
      return real(json.get<double>());
    case Json::Kind::big_integer:
      return word(json.text());
    case Json::Kind::string:
      return text(json.text());
    case Json::Kind::array:
      begin_array();
      for (const Json& item : json) value(item);
      return end_array();
    case Json::Kind::object:
      begin_object();
      for (const auto& [name, member] : json.items()) {
        key(name);
        value(member);
      }
      return end_object();
  }
}

std::string Json::dump(int indent) const {
  std::string out;
  JsonWriter(out, indent).value(*this);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Json& json) { return out << json.dump(); }

}  // namespace ruv
