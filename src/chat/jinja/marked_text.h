// MarkedText: text in which every byte remembers whether it came from the user. Marks travel with
// slices and concatenation, so a rendered prompt says which of its bytes the template wrote; only
// those may become control tokens.
//
// Marks are stored as runs. A text with one mark, which is most texts, stores none and costs one
// bool.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ruv::jinja {

class MarkedText {
 public:
  MarkedText() = default;
  MarkedText(std::string bytes, bool from_user);

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  // Appends bytes with one mark.
  void append(std::string_view bytes, bool from_user);
  // Requires: &other != this.
  void append(const MarkedText& other);
  // Bytes [begin, end) of other with their marks. Requires: begin <= end <= other.size().
  void append_slice(const MarkedText& other, size_t begin, size_t end);
  // Bytes [begin, end) with their marks.
  MarkedText slice(size_t begin, size_t end) const;

  // Whether any byte came from the user.
  bool any_from_user() const;

  // Calls f(std::string_view, bool from_user) for each longest run of equal mark, in order.
  template <class F>
  void for_each_run(F&& f) const {
    if (runs_.empty()) {
      if (!bytes_.empty()) f(std::string_view(bytes_), from_user_);
      return;
    }
    size_t begin = 0;
    for (const Run& run : runs_) {
      f(std::string_view(bytes_).substr(begin, run.end - begin), run.from_user);
      begin = run.end;
    }
  }

  // Set by the filters safe and escape: adding other text to it escapes that text, as Python's
  // Markup does.
  bool html_safe = false;

 private:
  // Bytes up to `end`, from the end of the run before.
  struct Run {
    size_t end;
    bool from_user;
  };
  // The run that contains a byte.
  size_t run_of(size_t byte) const;

  std::string bytes_;
  bool from_user_ = false;  // the mark of all bytes while runs_ is empty: most texts have one
  std::vector<Run> runs_;   // empty, or covering all bytes with neighbours that differ
};

}  // namespace ruv::jinja
