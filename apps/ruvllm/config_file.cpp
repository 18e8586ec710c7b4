#include "config_file.h"

#include <algorithm>
#include <set>

#include "base/utf8.h"

namespace ruv {
namespace {

constexpr std::string_view kBare =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

class TomlReader {
 public:
  explicit TomlReader(std::string_view text) : text_(text) {}

  Result<std::vector<ConfigEntry>> read() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    while (true) {
      skip_blank_lines();
      if (at_ == text_.size()) return std::move(entries_);
      if (text_[at_] == '[') {
        TRY(read_table());
      } else {
        TRY(read_entry());
      }
      TRY(end_line());
    }
  }

 private:
  template <class... Args>
  tl::unexpected<Status> refuse(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(Code::invalid, "line {}: {}", line_,
                fmt::format(format, std::forward<Args>(args)...));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\n'; }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  void skip_comment() {
    if (peek() != '#') return;
    at_ = std::min(text_.find('\n', at_), text_.size());
  }
  void skip_blank_lines() {
    while (true) {
      skip_spaces();
      skip_comment();
      if (at_ + 1 < text_.size() && text_[at_] == '\r' && text_[at_ + 1] == '\n') ++at_;
      if (at_ == text_.size() || text_[at_] != '\n') return;
      ++at_;
      ++line_;
    }
  }
  Status end_line() {
    skip_spaces();
    skip_comment();
    if (at_ == text_.size() || text_[at_] == '\n' || text_.substr(at_).starts_with("\r\n"))
      return {};
    return refuse("nothing may follow the value");
  }

  Result<std::string> read_name() {
    skip_spaces();
    if (peek() == '"' || peek() == '\'') return read_text();
    const size_t end = std::min(text_.find_first_not_of(kBare, at_), text_.size());
    if (end == at_) return refuse("a name is needed here");
    const std::string name(text_.substr(at_, end - at_));
    at_ = end;
    skip_spaces();
    return name;
  }

  Status read_table() {
    ++at_;
    table_ = TRY(read_name());
    skip_spaces();
    if (peek() != ']') return refuse("a table is written [NAME]");
    ++at_;
    return {};
  }

  Status read_entry() {
    ConfigEntry entry{.table = table_, .key = TRY(read_name()), .values = {}, .line = line_};
    skip_spaces();
    if (peek() != '=') return refuse("'=' is needed after '{}'", entry.key);
    ++at_;
    skip_spaces();
    if (peek() == '[') {
      TRY(read_list(entry.values));
    } else {
      entry.values.push_back(TRY(read_value()));
    }
    if (!seen_.emplace(entry.table, entry.key).second)
      return refuse("'{}' is given twice", entry.key);
    entries_.push_back(std::move(entry));
    return {};
  }

  Status read_list(std::vector<std::string>& values) {
    ++at_;
    while (true) {
      skip_blank_lines();
      if (peek() == ']') break;
      values.push_back(TRY(read_value()));
      skip_blank_lines();
      if (peek() == ',') {
        ++at_;
      } else if (peek() != ']') {
        return refuse("',' or ']' is needed in a list");
      }
    }
    ++at_;
    return {};
  }

  // A text, or a number or word as it is written.
  Result<std::string> read_value() {
    if (peek() == '"' || peek() == '\'') return read_text();
    const size_t end = std::min(text_.find_first_of(" \t\r\n,]#", at_), text_.size());
    const std::string word(text_.substr(at_, end - at_));
    const bool is_number = !word.empty() &&
                           word.find_first_not_of("0123456789+-._eE") == word.npos &&
                           word.find_first_of("0123456789") != word.npos;
    if (!is_number && word != "true" && word != "false")
      return refuse("'{}': a value is a text in quotes, a number, true, false, or a list of these",
                    word);
    at_ = end;
    return word;
  }

  Result<std::string> read_text() {
    const char quote = text_[at_++];
    if (text_.substr(at_).starts_with(std::string(2, quote)))
      return refuse("texts of several lines are not supported");
    std::string out;
    while (peek() != quote) {
      const auto c = static_cast<unsigned char>(peek());
      if (c < ' ' && c != '\t') return refuse("the text does not end in its line");
      ++at_;
      if (c == '\\' && quote == '"') {
        TRY(read_escape(out));
      } else {
        out.push_back(static_cast<char>(c));
      }
    }
    ++at_;
    return out;
  }

  Status read_escape(std::string& out) {
    constexpr std::string_view kLetters = "btnfr\"\\";
    constexpr std::string_view kMeant = "\b\t\n\f\r\"\\";
    const char letter = peek();
    if (const size_t at = kLetters.find(letter); at != kLetters.npos && at_ < text_.size()) {
      out.push_back(kMeant[at]);
      ++at_;
      return {};
    }
    const size_t n_digits = letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    const std::string_view digits = text_.substr(std::min(at_ + 1, text_.size()), n_digits);
    uint32_t value = 0;
    for (const char c : digits) {
      constexpr std::string_view kHex = "0123456789abcdef";
      const size_t digit = kHex.find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
      if (digit == kHex.npos) return refuse("'\\{}' needs {} digits", letter, n_digits);
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    if (n_digits == 0 || digits.size() < n_digits) return refuse("'\\{}' is not an escape", letter);
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
      return refuse("'\\{}{}' is not a character", letter, digits);
    append_utf8(out, value);
    at_ += 1 + n_digits;
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  int64_t line_ = 1;
  std::string table_;
  std::set<std::pair<std::string, std::string>> seen_;
  std::vector<ConfigEntry> entries_;
};

}  // namespace

Result<std::vector<ConfigEntry>> parse_config(std::string_view text) {
  return TomlReader(text).read();
}

}  // namespace ruv
