// The states are those of RFC 8259's grammar; what is open lies on a stack of bytes.
#include "chat/tools/json_scan.h"

#include "chat/tools/text_cursor.h"

namespace ruv {
namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

void append_in_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
}

bool is_json_object(std::string_view text) {
  JsonScan scan;
  std::string same;
  if (!text.starts_with('{')) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const JsonScan::Verdict verdict = scan.push(text[i], same);
    if (verdict == JsonScan::Verdict::done) return i + 1 == text.size() && !scan.repaired();
    if (verdict != JsonScan::Verdict::more) return false;
  }
  return false;
}

JsonScan::Verdict JsonScan::push(char c, std::string& json) {
  if (in_string()) return in_text(c, json);
  Verdict verdict = Verdict::bad;
  switch (state_) {
    case State::value:
    case State::first_item:
    case State::first_key:
    case State::key:
    case State::colon:
    case State::after:
      verdict = is_mark_space(c) ? Verdict::more : between(c);
      break;
    case State::word:
      verdict = in_word(c);
      break;
    default:
      verdict = in_number(c);
      // A number inside a list ends before the byte that follows it.
      if (verdict == Verdict::over && !open_.empty()) {
        state_ = State::after;
        verdict = is_mark_space(c) ? Verdict::more : between(c);
      }
  }
  if (verdict == Verdict::more || verdict == Verdict::done) json += c;
  return verdict;
}

bool JsonScan::whole_at_end() const {
  return open_.empty() && (state_ == State::zero || state_ == State::digits ||
                           state_ == State::fraction || state_ == State::exponent_digits);
}

// A byte that is not inside a string, a number or a word.
JsonScan::Verdict JsonScan::between(char c) {
  switch (state_) {
    case State::first_item:
      return c == ']' ? close('[') : begin_value(c);
    case State::value:
      return begin_value(c);
    case State::first_key:
      if (c == '}') return close('{');
      [[fallthrough]];
    case State::key:
      if (c != '"') return Verdict::bad;
      state_ = State::string;
      is_key_ = true;
      return Verdict::more;
    case State::colon:
      state_ = State::value;
      return c == ':' ? Verdict::more : Verdict::bad;
    default:
      break;
  }
  if (c == ',') {
    state_ = open_.back() == '{' ? State::key : State::value;
    return Verdict::more;
  }
  if (c == ']') return close('[');
  return c == '}' ? close('{') : Verdict::bad;
}

// The first byte of a value says what it is.
JsonScan::Verdict JsonScan::begin_value(char c) {
  if (c == '[' || c == '{') {
    if (open_.size() == kMaxDepth) return Verdict::bad;
    open_.push_back(c);
    state_ = c == '[' ? State::first_item : State::first_key;
    return Verdict::more;
  }
  if (c == '"') {
    state_ = State::string;
    is_key_ = false;
  } else if (c == '-') {
    state_ = State::minus;
  } else if (is_decimal(c)) {
    state_ = c == '0' ? State::zero : State::digits;
  } else if (c == 't' || c == 'f' || c == 'n') {
    word_ = c == 't' ? "rue" : c == 'f' ? "alse" : "ull";
    state_ = State::word;
  } else {
    return Verdict::bad;
  }
  return Verdict::more;
}

JsonScan::Verdict JsonScan::close(char opener) {
  if (open_.back() != opener) return Verdict::bad;
  open_.pop_back();
  return value_ended();
}

JsonScan::Verdict JsonScan::value_ended() {
  state_ = State::after;
  return open_.empty() ? Verdict::done : Verdict::more;
}

// Inside a string: escapes are checked, control characters written as escapes.
JsonScan::Verdict JsonScan::in_text(char c, std::string& json) {
  if (state_ == State::string && static_cast<unsigned char>(c) < 0x20) {
    append_in_json_string(json, {&c, 1});
    repaired_ = true;
    return Verdict::more;
  }
  if (state_ == State::escape) {
    if (c == 'u') {
      state_ = State::hex;
      n_hex_ = 0;
    } else if (std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos) {
      return Verdict::bad;
    } else {
      state_ = State::string;
    }
  } else if (state_ == State::hex) {
    if (!is_hex(c)) return Verdict::bad;
    if (++n_hex_ == 4) state_ = State::string;
  } else if (c == '\\') {
    state_ = State::escape;
  } else if (c == '"') {
    json += c;
    if (!is_key_) return value_ended();
    state_ = State::colon;
    return Verdict::more;
  }
  json += c;
  return Verdict::more;
}

// RFC 8259 has no leading zeros, no bare point and no plus sign before a number.
JsonScan::Verdict JsonScan::in_number(char c) {
  const bool digit = is_decimal(c);
  switch (state_) {
    case State::minus:
      state_ = c == '0' ? State::zero : State::digits;
      return digit ? Verdict::more : Verdict::bad;
    case State::digits:
      if (digit) return Verdict::more;
      [[fallthrough]];
    case State::zero:
      if (c == '.') {
        state_ = State::point;
        return Verdict::more;
      }
      break;
    case State::point:
      state_ = State::fraction;
      return digit ? Verdict::more : Verdict::bad;
    case State::fraction:
      if (digit) return Verdict::more;
      break;
    case State::exponent:
      if (c == '+' || c == '-') {
        state_ = State::exponent_sign;
        return Verdict::more;
      }
      [[fallthrough]];
    case State::exponent_sign:
      state_ = State::exponent_digits;
      return digit ? Verdict::more : Verdict::bad;
    default:
      return digit ? Verdict::more : Verdict::over;
  }
  if (c != 'e' && c != 'E') return Verdict::over;
  state_ = State::exponent;
  return Verdict::more;
}

JsonScan::Verdict JsonScan::in_word(char c) {
  if (c != word_.front()) return Verdict::bad;
  word_.remove_prefix(1);
  return word_.empty() ? value_ended() : Verdict::more;
}

}  // namespace ruv
