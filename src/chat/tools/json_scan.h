// JsonScan: follows one JSON value byte by byte and passes its text on as it is, so that numbers
// keep their digits. Models write line breaks into strings; such control characters are escaped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ruv {

class JsonScan {
 public:
  enum class Verdict : uint8_t {
    more,  // the byte belongs to the value, which is not whole yet
    done,  // … and ends it
    over,  // the value ended before the byte
    bad,   // no JSON value continues like this
  };
  // Arrays and objects in each other, as many as parse_json allows.
  static constexpr size_t kMaxDepth = 128;

  // Appends the byte's text to `json`. After anything but `more` only restart() may follow.
  Verdict push(char c, std::string& json);
  // Whether the value is whole if nothing follows: a number has no end of its own.
  bool whole_at_end() const;
  // Inside a string (keys too), after its first quote.
  bool in_string() const { return state_ >= State::string && state_ <= State::hex; }
  // Arrays and objects that are open.
  size_t depth() const { return open_.size(); }
  // A control character was escaped.
  bool repaired() const { return repaired_; }
  // Ready for another value.
  void restart() { *this = JsonScan(); }

 private:
  enum class State : uint8_t {
    value,
    first_item,  // a value or ']'
    first_key,   // a key or '}'
    key,
    colon,
    after,  // ',' or the end of what is open
    string,
    escape,
    hex,
    minus,
    zero,
    digits,
    point,
    fraction,
    exponent,
    exponent_sign,
    exponent_digits,
    word,
  };

  // The parts of push().
  Verdict begin_value(char c);
  Verdict in_text(char c, std::string& json);
  Verdict in_number(char c);
  Verdict in_word(char c);
  Verdict between(char c);
  Verdict close(char opener);
  Verdict value_ended();

  State state_ = State::value;
  std::vector<char> open_;  // '[' or '{'
  bool is_key_ = false;     // the string is a key
  uint8_t n_hex_ = 0;
  std::string_view word_;  // what is left of true, false or null
  bool repaired_ = false;
};

// Whether the whole text is one JSON object. Numbers may be of any size, unlike in parse_json.
bool is_json_object(std::string_view text);

// Appends text as it is inside a JSON string. Bytes that are not ASCII stay as they are.
void append_in_json_string(std::string& out, std::string_view text);

}  // namespace ruv
