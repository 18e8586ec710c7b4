// JsonWriter: JSON appended to a text as it is made, without a tree of values. Commas, quotes and
// escapes are its own; what is opened must be closed by the caller, and in an object every value
// follows its key.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_fwd.h"

namespace ruv {

// `text` in quotes, appended. Bytes that are not UTF-8 become U+FFFD.
void append_json_text(std::string& out, std::string_view text);

class JsonWriter {
 public:
  // indent < 0: on one line, without spaces. The text stays the caller's, which may take what is
  // there away between two calls.
  explicit JsonWriter(std::string& out, int indent = -1) : out_(out), indent_(indent) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name);

  void null() { word("null"); }
  void text(std::string_view value);
  // Null where it is empty.
  void text_or_null(std::string_view value);
  // Short and such that reading gives the same number; null where it is not finite.
  void real(double value);
  void boolean(bool value) { word(value ? "true" : "false"); }
  template <std::integral T>
  void integer(T value) {
    if constexpr (std::signed_integral<T>) {
      signed_integer(value);
    } else {
      unsigned_integer(value);
    }
  }
  // A whole value. Recursive: its depth is that of the value.
  void value(const Json& json);
  // An array of values that are JSON already, with commas between them.
  void written_array(std::string_view values);

 private:
  enum class Last : uint8_t { opening, key, value };

  void open(char bracket);
  void close(char bracket);
  void word(std::string_view literal);
  void signed_integer(int64_t value);
  void unsigned_integer(uint64_t value);
  void separate();
  void new_line();

  std::string& out_;
  int indent_;
  int depth_ = 0;
  Last last_ = Last::key;  // nothing goes before the first value
};

}  // namespace ruv
