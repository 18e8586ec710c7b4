// JsonWriter: appends JSON to a text directly, without a tree of values; for large answers. It adds
// commas, quotes and escapes. The caller must close what it opens, and in an object every value
// must follow its key.
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
  // indent < 0: on one line, without spaces. The text belongs to the caller, which may take out
  // what is there between two calls.
  explicit JsonWriter(std::string& out, int indent = -1) : out_(out), indent_(indent) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name);

  void null() { word("null"); }
  void text(std::string_view value);
  // A text, or null if it is empty.
  void text_or_null(std::string_view value);
  // The shortest digits that read back as the same number; null if it is not finite.
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
  // What was written last, which decides what goes before the next item.
  enum class Last : uint8_t { opening, key, value };

  // Opening and closing track the depth for indentation.
  void open(char bracket);
  void close(char bracket);
  void word(std::string_view literal);
  void signed_integer(int64_t value);
  void unsigned_integer(uint64_t value);
  // The comma, line break or nothing that goes before the next item.
  void separate();
  void new_line();

  std::string& out_;
  int indent_;
  int depth_ = 0;
  Last last_ = Last::key;  // nothing goes before the first value
};

}  // namespace ruv
