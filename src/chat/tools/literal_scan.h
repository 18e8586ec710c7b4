// LiteralScan: reads values written as literals of a programming language and writes them as JSON,
// byte by byte. Two languages: Python's, and one whose texts are between marks and whose keys
// are bare (`{city:<|"|>Paris<|"|>,n:3}`).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/text_cursor.h"
#include "chat/tools/tool_dialect.h"

namespace ruv {

class LiteralScan {
 public:
  // `syntax` must outlive the scan. Reads open key assign value … close, after `open`.
  static LiteralScan arguments(const LiteralArguments& syntax);
  // Reads one value.
  static LiteralScan value(const LiteralArguments& syntax);

  // Reads what is there and appends its JSON. `bad`: at the byte that is wrong.
  ReadStep read(TextCursor& text, std::string& json);

 private:
  enum class State : uint8_t {
    value,
    first_item,  // a value or the end of a list
    first_key,   // a key or the end
    key,
    after_key,
    after,  // ',' or the end
    bare_key,
    quoted,    // between marks
    python,    // between Python's quotes
    escape,    // after a backslash
    hex,       // digits of \x, \u and \U
    low_half,  // after a \u that is the first half of a pair
    number,
    word,
    done,
  };
  struct Open {
    char close;  // what ends it
    bool has_keys;
  };

  // Reads a value.
  explicit LiteralScan(const LiteralArguments& syntax) : syntax_(&syntax) {}
  bool python_words() const { return syntax_->quote.empty(); }
  // Between the keys and values of a call, not inside a value.
  bool in_arguments() const { return is_call_ && open_.size() == 1; }
  void put_comma(std::string& json) {
    if (comma_due_) json += ',';
    comma_due_ = false;
  }

  // One reader for each kind of state; `done`: the next step may follow.
  ReadStep step(TextCursor& text, std::string& json);
  ReadStep between(TextCursor& text, std::string& json);
  ReadStep begin_value(TextCursor& text, std::string& json);
  ReadStep begin_text(TextCursor& text, std::string& json, bool is_key);
  ReadStep begin_key(TextCursor& text, std::string& json);
  ReadStep read_bare_key(TextCursor& text, std::string& json);
  ReadStep read_quoted(TextCursor& text, std::string& json);
  ReadStep read_python(TextCursor& text, std::string& json);
  ReadStep read_escape(TextCursor& text, std::string& json);
  ReadStep read_hex(TextCursor& text, std::string& json);
  ReadStep read_low_half(TextCursor& text, std::string& json);
  ReadStep read_number(TextCursor& text, std::string& json);
  ReadStep read_word(TextCursor& text, std::string& json);
  // Change the stack of what is open.
  ReadStep open(TextCursor& text, std::string& json, Open opened, char json_open);
  ReadStep close(TextCursor& text, std::string& json);
  ReadStep value_ended();
  ReadStep text_ended(std::string& json);
  ReadStep put_code_point(std::string& json, uint32_t code_point);

  const LiteralArguments* syntax_;
  State state_ = State::value;
  std::vector<Open> open_;
  bool is_call_ = false;    // arguments(), not value()
  bool comma_due_ = false;  // read, and written once something follows
  bool is_key_ = false;     // the text is a key
  char python_quote_ = 0;
  uint8_t n_hex_ = 0;     // digits to come
  bool is_pair_ = false;  // … of a \u, which may be half of a pair
  uint32_t code_point_ = 0;
  uint32_t high_half_ = 0;  // 0: none
  std::string token_;       // a number or a word so far
  uint64_t n_read_ = 0;
};

}  // namespace ruv
