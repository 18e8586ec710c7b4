// AnswerScreen: an answer at a terminal as it streams in. Words are not broken at the window's
// edge, Markdown becomes bold, dimmed and indented text, and control characters of the model's text
// do nothing. A pipe gets the text as it is.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "terminal.h"

namespace ruv {

// How texts are shown.
enum class ScreenForm {
  raw,       // as they are
  wrapped,   // lines are broken between words
  markdown,  // the same, and marks of Markdown become styles
};
// What suits stdout: raw where it is not a terminal or `plain` is asked for, no styles where there
// are no colours.
ScreenForm screen_form(bool plain);

class AnswerScreen {
 public:
  using Put = std::function<void(std::string_view)>;
  // At stdout, as wide as its window.
  explicit AnswerScreen(ScreenForm form);
  // `width`: columns of the window. What is shown goes to `put`.
  AnswerScreen(ScreenForm form, size_t width, TerminalStyle style, Put put);

  // A further piece of the text, which may end inside a word or a character.
  void add(std::string_view text);
  // What waits for the rest of its word is shown, styles end, and the line does.
  void finish();

 private:
  // `bytes` are those of the character.
  void add_character(uint32_t character, std::string_view bytes);
  void begin_line();
  void end_line();
  void end_word();
  void put_word(std::string_view word);
  // What is there of a line of code, indented.
  void put_code_line();
  // Whether the line that begins with the word is a heading, an item or a fence.
  bool is_line_mark(std::string_view word);
  // The word without its marks, with codes of styles in it.
  std::string styled(std::string_view word, size_t& columns);
  // That switch the terminal to the styles that are open.
  std::string style_codes() const;
  void open_style(std::string& out, bool& flag, bool on);

  ScreenForm form_;
  size_t width_;
  TerminalStyle style_;
  Put put_;
  std::string cut_;     // bytes of a character that is not complete
  std::string word_;    // characters of a word that may become longer
  std::string code_;    // a line of a block of code
  std::string blanks_;  // between the last word and the next one
  size_t column_ = 0;
  size_t indent_ = 0;  // of the next lines of this paragraph
  bool line_begins_ = true;
  bool in_block_ = false;  // of code
  bool in_info_ = false;   // of the line that begins it
  bool bold_ = false, italic_ = false, code_span_ = false, heading_ = false;
  bool wrote_ = false;  // something that no line break followed
};

// Columns of a text at a terminal: two for wide characters, none for combining ones.
size_t shown_columns(std::string_view text);

}  // namespace ruv
