// A word waits until it ends, since only then is it known whether it fits the line, and which marks
// it has at its ends. A line of a block of code waits for its end.
#include "answer_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cwchar>
#include <utility>

#include "base/utf8.h"

namespace ruv {
namespace {

constexpr size_t kLongestWord = 4096;  // then it is shown as far as it is there
constexpr std::string_view kItalic = "\x1b[3m";

size_t columns_of(uint32_t character) {
  const int n = ::wcwidth(static_cast<wchar_t>(character));
  return n < 0 ? 1 : static_cast<size_t>(n);
}

bool is_control(uint32_t c) { return (c < 0x20 && c != '\t') || (c >= 0x7F && c < 0xA0); }

// "1." to "999." or "1)".
bool is_number_mark(std::string_view word) {
  if (word.size() < 2 || word.size() > 4 || (word.back() != '.' && word.back() != ')'))
    return false;
  return word.substr(0, word.size() - 1).find_first_not_of("0123456789") == word.npos;
}

}  // namespace

size_t shown_columns(std::string_view text) {
  size_t n = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    n += columns_of(point.value);
    at += point.size;
  }
  return n;
}

ScreenForm screen_form(bool plain) {
  if (plain || !is_terminal(stdout)) return ScreenForm::raw;
  return *style_of(stdout).bold == '\0' ? ScreenForm::wrapped : ScreenForm::markdown;
}

AnswerScreen::AnswerScreen(ScreenForm form)
    : AnswerScreen(form, text_width(), style_of(stdout),
                   [](std::string_view text) { fmt::print("{}", text); }) {}

AnswerScreen::AnswerScreen(ScreenForm form, size_t width, TerminalStyle style, Put put)
    : form_(form), width_(std::max<size_t>(width, 20)), style_(style), put_(std::move(put)) {}

void AnswerScreen::add(std::string_view text) {
  if (form_ == ScreenForm::raw) {
    if (!text.empty()) wrote_ = text.back() != '\n';
    put_(text);
    return;
  }
  const std::string all = std::exchange(cut_, {}) + std::string(text);
  for (size_t at = 0; at < all.size();) {
    const CodePoint point = decode_utf8(all, at);
    // The engine hands over whole characters; this is for others.
    if (!point.valid && all.size() - at < 4 && static_cast<unsigned char>(all[at]) >= 0xC0) {
      cut_ = all.substr(at);
      break;
    }
    add_character(point.value, std::string_view(all).substr(at, point.size));
    at += point.size;
  }
}

void AnswerScreen::add_character(uint32_t character, std::string_view bytes) {
  if (character == '\n') return end_line();
  if (character == '\r' || in_info_) return;
  if (in_block_) {
    code_ += is_control(character) ? fmt::format("<U+{:04X}>", character) : std::string(bytes);
    if (code_.size() > kLongestWord) put_code_line();
    return;
  }
  if (character == ' ' || character == '\t') {
    end_word();
    blanks_ += bytes;
    return;
  }
  word_ += is_control(character) ? fmt::format("<U+{:04X}>", character) : std::string(bytes);
  if (word_.size() > kLongestWord) end_word();
}

void AnswerScreen::put_code_line() {
  put_(fmt::format("    {}{}{}", style_.dim, code_, style_.reset));
  code_.clear();
  wrote_ = true;
}

void AnswerScreen::end_line() {
  if (in_block_) {
    if (std::string_view(code_)
            .substr(std::min(code_.find_first_not_of(' '), code_.size()))
            .starts_with("```")) {
      in_block_ = false;
      code_.clear();
    } else {
      put_code_line();
      put_("\n");
      wrote_ = false;
    }
    return begin_line();
  }
  const bool is_fence = form_ == ScreenForm::markdown && line_begins_ && word_.starts_with("```");
  if (is_fence || in_info_) {
    in_info_ = false;
    in_block_ = true;
    word_.clear();
    return begin_line();
  }
  end_word();
  if (bold_ || italic_ || code_span_ || heading_) put_(style_.reset);
  put_("\n");
  begin_line();
}

void AnswerScreen::begin_line() {
  blanks_.clear();
  column_ = indent_ = 0;
  line_begins_ = true;
  bold_ = italic_ = code_span_ = heading_ = wrote_ = false;
}

bool AnswerScreen::is_line_mark(std::string_view word) {
  const size_t before = std::min<size_t>(blanks_.size(), width_ / 2);
  if (word.starts_with("```")) {  // the words after it name the language
    in_info_ = true;
    return true;
  }
  if (word.size() <= 6 && word.find_first_not_of('#') == word.npos) {
    heading_ = true;
    put_(style_.bold);
    return true;
  }
  const bool is_item = word == "-" || word == "*" || word == "+";
  if (!is_item && !is_number_mark(word)) return false;
  const std::string shown = is_item ? "•" : std::string(word);
  put_(std::string(before, ' ') + shown);
  column_ = before + shown_columns(shown);
  indent_ = column_ + 1;
  wrote_ = true;
  return true;
}

void AnswerScreen::end_word() {
  if (word_.empty()) return;
  const std::string word = std::exchange(word_, {});
  const bool begins = std::exchange(line_begins_, false);
  if (begins && form_ == ScreenForm::markdown && is_line_mark(word)) {
    blanks_.clear();
    return;
  }
  put_word(word);
}

void AnswerScreen::put_word(std::string_view word) {
  size_t columns = 0;
  if (heading_ && column_ == 0) blanks_.clear();  // that follow the mark
  const std::string shown =
      form_ == ScreenForm::markdown ? styled(word, columns) : std::string(word);
  if (form_ != ScreenForm::markdown) columns = shown_columns(word);
  const size_t gap = blanks_.size();
  if (column_ > indent_ && column_ + gap + columns > width_) {
    put_('\n' + std::string(indent_, ' '));
    column_ = indent_;
  } else {
    put_(blanks_);
    column_ += gap;
  }
  blanks_.clear();
  put_(shown);
  column_ += columns;
  if (column_ > width_) column_ %= width_;  // the terminal has broken it
  wrote_ = true;
}

std::string AnswerScreen::style_codes() const {
  std::string codes = style_.reset;
  if (bold_ || heading_) codes += style_.bold;
  if (italic_) codes += kItalic;
  if (code_span_) codes += style_.dim;
  return codes;
}

void AnswerScreen::open_style(std::string& out, bool& flag, bool on) {
  flag = on;
  out += style_codes();
}

// Marks at the start of a word open a style, later ones can only close it: 2**3 stays.
std::string AnswerScreen::styled(std::string_view word, size_t& columns) {
  std::string out;
  bool at_start = true;
  for (size_t at = 0; at < word.size();) {
    const std::string_view rest = word.substr(at);
    const bool has_more = rest.size() > 2;
    if (rest[0] == '`') {
      open_style(out, code_span_, !code_span_);
      at += 1;
    } else if (!code_span_ && rest.starts_with("**") && (bold_ || (at_start && has_more))) {
      open_style(out, bold_, !bold_);
      at += 2;
    } else if (!code_span_ && rest[0] == '*' && !rest.starts_with("**") &&
               (italic_ || (at_start && rest.size() > 1))) {
      open_style(out, italic_, !italic_);
      at += 1;
    } else {
      const CodePoint point = decode_utf8(word, at);
      out += rest.substr(0, point.size);
      columns += columns_of(point.value);
      at += point.size;
      at_start = point.value == '(' || point.value == '[' || point.value == '"' ||
                 (at_start && point.value == '*');
    }
  }
  return out;
}

void AnswerScreen::finish() {
  if (form_ != ScreenForm::raw) {
    if (!cut_.empty()) word_ += "\xEF\xBF\xBD";
    cut_.clear();
    if (in_block_) {
      if (!code_.empty()) end_line();
    } else if (line_begins_ && word_.starts_with("```")) {
      word_.clear();
    } else {
      end_word();
    }
    if (bold_ || italic_ || code_span_ || heading_) put_(style_.reset);
    in_block_ = false;
  }
  if (wrote_) put_("\n");
  begin_line();
}

}  // namespace ruv
