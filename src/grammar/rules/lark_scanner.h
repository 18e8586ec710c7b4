// LarkScanner: takes the words of the Lark dialect: names, texts, regular expressions, JSON.
#pragma once

#include "base/json.h"
#include "grammar/rules/grammar_cursor.h"

namespace ruv {

class LarkScanner : public GrammarCursor {
 public:
  explicit LarkScanner(std::string_view text) : GrammarCursor(text, "Lark") {}

  // Spaces and comments (`//`, `#`), and line ends if they mean nothing here.
  void skip_space(bool lines);
  bool at_line_end() const { return done() || peek() == '\n' || peek() == '\r'; }
  // Letters, digits, '_' and '-'; empty where none begins.
  std::string_view take_name();
  // At '"': a text with the escapes of JSON, \x and \U, and perhaps `i` after it.
  struct Literal {
    std::string text;
    bool any_case = false;
  };
  Result<Literal> take_literal();
  // At '/': a regular expression up to the next '/', and its flags.
  struct Regex {
    std::string text;
    bool any_case = false;
    bool dot_all = false;
  };
  Result<Regex> take_regex();
  // At '{', perhaps after spaces: an object. `what` names its place in errors: "%json".
  Result<Json> take_object(std::string_view what);

 private:
  Result<uint32_t> take_escape();
};

// Whether a name is that of a terminal, in capitals, or of a rule. Nothing for mixed letters.
std::optional<bool> is_terminal_name(std::string_view name);

}  // namespace ruv
