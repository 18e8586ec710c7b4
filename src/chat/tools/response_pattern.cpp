#include "chat/tools/response_pattern.h"

namespace ruv {
namespace {

constexpr size_t kMaxPattern = 4096;

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class MarkPatternReader {
 public:
  explicit MarkPatternReader(std::string_view pattern) : pattern_(pattern) {}

  Result<std::vector<PatternPiece>> run() {
    if (pattern_.size() > kMaxPattern)
      return fail(Code::unsupported, "the pattern is above {} bytes", kMaxPattern);
    while (at_ < pattern_.size()) TRY(read_piece());
    return std::move(pieces_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }

  Status refused() const {
    return Status(Code::unsupported,
                  fmt::format("byte {}: only marks, '\\s*' and named groups of one class are "
                              "understood",
                              at_));
  }

  Status read_piece() {
    const char c = peek();
    if (c == '\\') return read_escape();
    if (c == '(') return read_group();
    if (std::string_view(".[]{}()*+?|^$").find(c) != std::string_view::npos) {
      // A brace is a character unless it counts repetitions.
      const bool counts = c == '{' && (peek(1) == ',' || (peek(1) >= '0' && peek(1) <= '9'));
      if (!(c == '{' || c == '}' || c == ']') || counts) return refused();
    }
    ++at_;
    return add_text(c);
  }

  Status read_escape() {
    const char c = peek(1);
    if (c == '\0' || (is_word(c) && c != 'n' && c != 's' && c != 't')) return refused();
    at_ += 2;
    if (c != 's') return add_text(c == 'n' ? '\n' : c == 't' ? '\t' : c);
    if (!skip_repetition()) return refused();
    pieces_.push_back({PatternPiece::Kind::space});
    return {};
  }

  // A character, or whitespace that may repeat.
  Status add_text(char c) {
    const bool is_space = c == '\n' || c == '\t' || c == ' ';
    if (is_space && skip_repetition()) {
      pieces_.push_back({PatternPiece::Kind::space});
      return {};
    }
    if (std::string_view("*+?").find(peek()) != std::string_view::npos && at_ < pattern_.size())
      return refused();
    if (pieces_.empty() || pieces_.back().kind != PatternPiece::Kind::text)
      pieces_.push_back({PatternPiece::Kind::text});
    pieces_.back().text += c;
    return {};
  }

  bool skip_repetition() {
    const char c = peek();
    if (c != '*' && c != '+' && c != '?') return false;
    ++at_;
    if (peek() == '?') ++at_;  // lazy: the same for whitespace before a mark
    return true;
  }

  Status read_group() {
    const std::string_view rest = pattern_.substr(at_);
    const size_t head = rest.starts_with("(?P<") ? 4 : rest.starts_with("(?<") ? 3 : 0;
    size_t n = head;
    while (n < rest.size() && is_word(rest[n])) ++n;
    if (head == 0 || n == head || n == rest.size() || rest[n] != '>') return refused();
    const std::string name(rest.substr(head, n - head));
    at_ += n + 1;
    TRY(skip_class());
    if (peek() != ')') return refused();
    ++at_;
    pieces_.push_back({PatternPiece::Kind::capture, name});
    return {};
  }

  // One class with its repetition, or a lazy dot: a greedy one would run to the last mark.
  Status skip_class() {
    const size_t begin = at_;
    if (peek() == '[') {
      ++at_;
      if (peek() == '^') ++at_;
      if (peek() == ']') ++at_;
      while (at_ < pattern_.size() && peek() != ']') at_ += peek() == '\\' ? 2 : 1;
      ++at_;
    } else {
      at_ += peek() == '\\' ? 2 : 1;
    }
    const bool repeats = peek() == '*' || peek() == '+';
    if (repeats) ++at_;
    const bool lazy = repeats && peek() == '?';
    if (lazy) ++at_;
    const char first = begin < pattern_.size() ? pattern_[begin] : '\0';
    const bool is_class = first == '[' || first == '\\' || (first == '.' && lazy);
    if (!repeats || !is_class || at_ > pattern_.size()) return refused();
    return {};
  }

  std::string_view pattern_;
  size_t at_ = 0;
  std::vector<PatternPiece> pieces_;
};

}  // namespace

Result<std::vector<PatternPiece>> read_response_pattern(std::string_view pattern) {
  return MarkPatternReader(pattern).run();
}

}  // namespace ruv
