#include "chat/tools/literal_scan.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "chat/tools/json_scan.h"
#include "text/hex.h"

namespace ruv {
namespace {

// Numbers and words longer than this are none.
constexpr size_t kMaxToken = 4096;

bool is_literal_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_number_byte(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}
bool is_json_number(std::string_view text) {
  JsonScan scan;
  std::string same;
  for (const char c : text) {
    if (scan.push(c, same) != JsonScan::Verdict::more) return false;
  }
  return scan.whole_at_end();
}

}  // namespace

LiteralScan LiteralScan::arguments(const LiteralArguments& syntax) {
  LiteralScan scan(syntax);
  scan.open_.push_back({syntax.close, true});
  scan.is_call_ = true;
  scan.state_ = State::first_key;
  return scan;
}

LiteralScan LiteralScan::value(const LiteralArguments& syntax) { return LiteralScan(syntax); }

// Steps until the value ends or more text is needed.
ReadStep LiteralScan::read(TextCursor& text, std::string& json) {
  while (state_ != State::done) {
    const ReadStep result = step(text, json);
    if (result != ReadStep::done) return result;
  }
  return ReadStep::done;
}

// `done`: something was read, and the next step may follow.
ReadStep LiteralScan::step(TextCursor& text, std::string& json) {
  switch (state_) {
    case State::bare_key:
      return read_bare_key(text, json);
    case State::quoted:
      return read_quoted(text, json);
    case State::python:
      return read_python(text, json);
    case State::escape:
      return read_escape(text, json);
    case State::hex:
      return read_hex(text, json);
    case State::low_half:
      return read_low_half(text, json);
    case State::number:
      return read_number(text, json);
    case State::word:
      return read_word(text, json);
    default:
      return between(text, json);
  }
}

// Outside of texts, numbers and words, where whitespace says nothing.
ReadStep LiteralScan::between(TextCursor& text, std::string& json) {
  if (!text.skip_space()) return ReadStep::more;
  if (text.empty()) return ReadStep::bad;
  const char c = text.front();
  const bool ends = !open_.empty() && c == open_.back().close;
  switch (state_) {
    case State::first_item:
    case State::value:
      // A list may have a comma after its last item, as in Python.
      return ends && !open_.back().has_keys ? close(text, json) : begin_value(text, json);
    case State::first_key:
    case State::key:
      return ends ? close(text, json) : begin_key(text, json);
    case State::after_key: {
      const char assign = in_arguments() ? syntax_->assign : ':';
      if (c != assign) return ReadStep::bad;
      text.advance(1);
      json += ':';
      state_ = State::value;
      return ReadStep::done;
    }
    default:
      break;
  }
  if (ends) return close(text, json);
  if (c != ',') return ReadStep::bad;
  text.advance(1);
  comma_due_ = true;
  state_ = open_.back().has_keys ? State::key : State::value;
  return ReadStep::done;
}

// A value begins with the byte that is next.
ReadStep LiteralScan::begin_value(TextCursor& text, std::string& json) {
  put_comma(json);
  const char c = text.front();
  if (c == '[') return open(text, json, {']', false}, '[');
  if (c == '(' && python_words()) return open(text, json, {')', false}, '[');
  if (c == '{') return open(text, json, {'}', true}, '{');
  const ReadStep begun = begin_text(text, json, false);
  if (begun != ReadStep::bad) return begun;
  token_.clear();
  if (is_number_byte(c) && c != 'e' && c != 'E' && c != '+' && c != '.') {
    state_ = State::number;
  } else if (is_literal_byte(c)) {
    state_ = State::word;
  } else {
    return ReadStep::bad;
  }
  return ReadStep::done;
}

// `bad`: no text begins here, and nothing is read.
ReadStep LiteralScan::begin_text(TextCursor& text, std::string& json, bool is_key) {
  const char c = text.front();
  if (python_words()) {
    if (c != '\'' && c != '"') return ReadStep::bad;
    python_quote_ = c;
    text.advance(1);
    state_ = State::python;
  } else {
    const MarkMatch match = text.match(syntax_->quote);
    if (match == MarkMatch::no) return ReadStep::bad;
    if (match == MarkMatch::partial) return ReadStep::more;
    text.advance(syntax_->quote.size());
    state_ = State::quoted;
  }
  is_key_ = is_key;
  json += '"';
  return ReadStep::done;
}

// A key: bare in a call and where texts are between marks, else a text.
ReadStep LiteralScan::begin_key(TextCursor& text, std::string& json) {
  put_comma(json);
  const ReadStep begun = begin_text(text, json, true);
  if (begun != ReadStep::bad) return begun;
  const bool bare = !python_words() || in_arguments();
  if (!bare || !is_literal_byte(text.front())) return ReadStep::bad;
  json += '"';
  n_read_ = 0;
  state_ = State::bare_key;
  return ReadStep::done;
}

// Python's names; between marks anything up to the ':'.
ReadStep LiteralScan::read_bare_key(TextCursor& text, std::string& json) {
  while (!text.empty()) {
    const char c = text.front();
    const bool ends = c == ':' || c == '=' || is_mark_space(c);
    if (ends) {
      json += '"';
      state_ = State::after_key;
      return ReadStep::done;
    }
    const bool allowed = python_words()
                             ? is_literal_byte(c) || static_cast<unsigned char>(c) >= 0x80
                             : c != ',' && c != '{' && c != '}' && c != '[' && c != ']';
    if (!allowed || ++n_read_ > kMaxToken) return ReadStep::bad;
    append_in_json_string(json, {&c, 1});
    text.advance(1);
  }
  return text.ended() ? ReadStep::bad : ReadStep::more;
}

// A text between marks has no escapes: everything up to the next mark is in it.
ReadStep LiteralScan::read_quoted(TextCursor& text, std::string& json) {
  const char first = syntax_->quote.front();
  while (!text.empty()) {
    const std::string_view rest = text.rest();
    const size_t n = std::min(rest.find(first), rest.size());
    append_in_json_string(json, rest.substr(0, n));
    text.advance(n);
    if (text.empty()) break;
    const MarkMatch match = text.match(syntax_->quote);
    if (match == MarkMatch::partial) return ReadStep::more;
    if (match == MarkMatch::full) {
      text.advance(syntax_->quote.size());
      return text_ended(json);
    }
    append_in_json_string(json, rest.substr(n, 1));
    text.advance(1);
  }
  return text.ended() ? ReadStep::bad : ReadStep::more;
}

// A text between Python's quotes, up to its end or an escape.
ReadStep LiteralScan::read_python(TextCursor& text, std::string& json) {
  while (!text.empty()) {
    const char c = text.front();
    text.advance(1);
    if (c == python_quote_) return text_ended(json);
    if (c == '\\') {
      state_ = State::escape;
      return ReadStep::done;
    }
    append_in_json_string(json, {&c, 1});
  }
  return text.ended() ? ReadStep::bad : ReadStep::more;
}

// The byte after a backslash.
ReadStep LiteralScan::read_escape(TextCursor& text, std::string& json) {
  if (text.empty()) return text.ended() ? ReadStep::bad : ReadStep::more;
  constexpr std::string_view kNames = "nrtbfav0";
  constexpr std::string_view kBytes("\n\r\t\b\f\a\v\0", 8);
  const char c = text.front();
  text.advance(1);
  state_ = State::python;
  const size_t named = kNames.find(c);
  if (named != std::string_view::npos) {
    append_in_json_string(json, kBytes.substr(named, 1));
  } else if (c == 'x' || c == 'u' || c == 'U') {
    n_hex_ = c == 'x' ? 2 : c == 'u' ? 4 : 8;
    is_pair_ = c == 'u';
    code_point_ = 0;
    state_ = State::hex;
  } else if (c == '\\' || c == '\'' || c == '"') {
    append_in_json_string(json, {&c, 1});
  } else if (c != '\n') {  // a line that continues
    // Python keeps the backslash of an escape that it does not know.
    json += "\\\\";
    append_in_json_string(json, {&c, 1});
  }
  return ReadStep::done;
}

// The digits of an escape. Two \u escapes may be one character, as JSON writes it.
ReadStep LiteralScan::read_hex(TextCursor& text, std::string& json) {
  while (n_hex_ > 0) {
    if (text.empty()) return text.ended() ? ReadStep::bad : ReadStep::more;
    const int digit = hex_value(text.front());
    if (digit < 0) return ReadStep::bad;
    text.advance(1);
    code_point_ = code_point_ * 16 + static_cast<uint32_t>(digit);
    --n_hex_;
  }
  state_ = State::python;
  if (is_pair_ && high_half_ != 0) {
    if (code_point_ < 0xDC00 || code_point_ > 0xDFFF) return ReadStep::bad;
    const uint32_t high = std::exchange(high_half_, 0);
    return put_code_point(json, 0x10000 + ((high - 0xD800) << 10) + (code_point_ - 0xDC00));
  }
  if (is_pair_ && code_point_ >= 0xD800 && code_point_ <= 0xDBFF) {
    high_half_ = code_point_;
    state_ = State::low_half;
    return ReadStep::done;
  }
  return put_code_point(json, code_point_);
}

// After the first half of a pair only the second may come.
ReadStep LiteralScan::read_low_half(TextCursor& text, std::string&) {
  const MarkMatch match = text.match("\\u");
  if (match == MarkMatch::partial) return ReadStep::more;
  if (match == MarkMatch::no) return ReadStep::bad;
  text.advance(2);
  n_hex_ = 4;
  code_point_ = 0;
  state_ = State::hex;
  return ReadStep::done;
}

ReadStep LiteralScan::put_code_point(std::string& json, uint32_t code_point) {
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) {
    return ReadStep::bad;
  }
  std::string bytes;
  append_utf8(bytes, code_point);
  append_in_json_string(json, bytes);
  return ReadStep::done;
}

// Numbers of JSON only; they keep their digits.
ReadStep LiteralScan::read_number(TextCursor& text, std::string& json) {
  while (!text.empty() && is_number_byte(text.front())) {
    if (token_.size() == kMaxToken) return ReadStep::bad;
    token_ += text.front();
    text.advance(1);
  }
  if (text.empty() && !text.ended()) return ReadStep::more;
  if (!is_json_number(token_)) return ReadStep::bad;
  json += token_;
  return value_ended();
}

// true, false and null in the spellings of both languages.
ReadStep LiteralScan::read_word(TextCursor& text, std::string& json) {
  while (!text.empty() && is_literal_byte(text.front())) {
    if (token_.size() == 8) return ReadStep::bad;
    token_ += text.front();
    text.advance(1);
  }
  if (text.empty() && !text.ended()) return ReadStep::more;
  // Models write JSON's words into Python, too.
  if (token_ == "true" || (python_words() && token_ == "True")) {
    json += "true";
  } else if (token_ == "false" || (python_words() && token_ == "False")) {
    json += "false";
  } else if (token_ == "null" || (python_words() && token_ == "None")) {
    json += "null";
  } else {
    return ReadStep::bad;
  }
  return value_ended();
}

// A list or an object begins.
ReadStep LiteralScan::open(TextCursor& text, std::string& json, Open opened, char json_open) {
  if (open_.size() == JsonScan::kMaxDepth) return ReadStep::bad;
  text.advance(1);
  open_.push_back(opened);
  json += json_open;
  state_ = opened.has_keys ? State::first_key : State::first_item;
  return ReadStep::done;
}

// The list or object that was opened last ends.
ReadStep LiteralScan::close(TextCursor& text, std::string& json) {
  text.advance(1);
  comma_due_ = false;  // before an end it is Python's, not JSON's
  json += open_.back().has_keys ? '}' : ']';
  open_.pop_back();
  return value_ended();
}

ReadStep LiteralScan::text_ended(std::string& json) {
  json += '"';
  if (!is_key_) return value_ended();
  state_ = State::after_key;
  return ReadStep::done;
}

ReadStep LiteralScan::value_ended() {
  state_ = open_.empty() ? State::done : State::after;
  return ReadStep::done;
}

}  // namespace ruv
