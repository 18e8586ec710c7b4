#include "chat/tools/text_pattern.h"

namespace ruv {
namespace {

constexpr std::string_view kShared = "dDwWnrtfv";

bool is_ascii_sign(char c) {
  return c > ' ' && c < 127 && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
         !(c >= 'A' && c <= 'Z');
}

class PatternCopy {
 public:
  explicit PatternCopy(std::string_view pattern) : in_(pattern) {}

  std::optional<std::string> run() {
    const bool from_start = in_.starts_with('^');
    if (from_start) in_.remove_prefix(1);
    const bool to_end = in_.ends_with('$') && !ends_escaped();
    if (to_end) in_.remove_suffix(1);
    while (!in_.empty()) {
      if (!copy_item()) return std::nullopt;
    }
    // An anchor belongs to one alternative only.
    if (depth_ != 0 || (has_choice_ && (from_start || to_end))) return std::nullopt;
    return (from_start ? "" : "(?s:.*)") + ("(?:" + out_ + ")") + (to_end ? "" : "(?s:.*)");
  }

 private:
  bool ends_escaped() const {
    size_t n = 0;
    while (n + 1 < in_.size() && in_[in_.size() - 2 - n] == '\\') ++n;
    return n % 2 == 1;
  }
  char take() {
    const char c = in_.front();
    in_.remove_prefix(1);
    return c;
  }

  bool copy_item() {
    const char c = take();
    switch (c) {
      case '\\':
        return copy_escape();
      case '[':
        return copy_class();
      case '(':
        ++depth_;
        if (in_.starts_with('?') && !in_.starts_with("?:")) return false;
        break;
      case ')':
        if (--depth_ < 0) return false;
        break;
      case '{':
        return copy_count();
      case '|':
        has_choice_ |= depth_ == 0;
        break;
      case '^':
      case '$':
      case ']':
      case '}':
        return false;
      case '.':
        out_ += "[^\\n\\r\u2028\u2029]";
        return true;
      case '/':
        out_ += "\\/";
        return true;
      default:
        break;
    }
    out_ += c;
    return true;
  }

  bool copy_escape() {
    if (in_.empty()) return false;
    const char c = take();
    if (kShared.find(c) == kShared.npos && !is_ascii_sign(c)) return false;
    out_ += '\\';
    out_ += c;
    return true;
  }

  bool copy_class() {
    out_ += '[';
    if (in_.starts_with('^')) out_ += take();
    if (in_.starts_with(']')) return false;
    while (!in_.empty()) {
      const char c = take();
      if (c == ']') {
        out_ += c;
        return true;
      }
      if (c == '\\') {
        if (!copy_escape()) return false;
        continue;
      }
      if (c == '[' || c == '/' || c == '&' || c == '~') out_ += '\\';
      out_ += c;
    }
    return false;
  }

  // {n}, {n,} or {n,m}.
  bool copy_count() {
    out_ += '{';
    bool has_digit = false;
    while (!in_.empty()) {
      const char c = take();
      out_ += c;
      if (c == '}') return has_digit;
      if (c >= '0' && c <= '9') {
        has_digit = true;
      } else if (c != ',' || !has_digit) {
        return false;
      }
    }
    return false;
  }

  std::string_view in_;
  std::string out_;
  int depth_ = 0;
  bool has_choice_ = false;
};

}  // namespace

std::optional<std::string> text_pattern(std::string_view pattern) {
  return PatternCopy(pattern).run();
}

}  // namespace ruv
