// TextCursor: the part of a growing text that is not read yet. Readers look at what is there and
// say that they need more; they never decide on less than they would see in the whole text, which
// makes results independent of how the text is cut.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ruv {

// What a reader did with the text that is there.
enum class ReadStep : uint8_t { more, done, bad };
// How a text compares with the beginning of the rest. `partial`: more text decides.
enum class MarkMatch : uint8_t { no, partial, full };

class TextCursor {
 public:
  // More text has come.
  void append(std::string_view text);
  // No text follows: nothing is partial any more.
  void end() { ended_ = true; }
  bool ended() const { return ended_; }

  // What is there and not read. Valid until append().
  std::string_view rest() const { return std::string_view(text_).substr(at_); }
  bool empty() const { return at_ == text_.size(); }
  char front() const { return text_[at_]; }
  // Bytes read so far.
  uint64_t offset() const { return dropped_ + at_; }
  // Requires: n <= rest().size().
  void advance(size_t n);

  // Compares at rest().substr(at).
  MarkMatch match(std::string_view mark, size_t at = 0);
  // Reads whitespace. False: only whitespace is there, and more may follow.
  bool skip_space();

  // From here on the text stays, for held().
  void hold() { held_ = at_; }
  // What was read since hold().
  std::string_view held() const { return std::string_view(text_).substr(held_, at_ - held_); }
  // Nothing is held any more.
  void release() { held_ = std::string::npos; }

  // Bytes that were compared or read: what tests hold linear.
  uint64_t work() const { return work_; }
  void add_work(uint64_t n) { work_ += n; }

 private:
  std::string text_;
  size_t at_ = 0;
  size_t held_ = std::string::npos;  // npos: nothing is held
  uint64_t dropped_ = 0;             // bytes before text_
  uint64_t work_ = 0;
  bool ended_ = false;
};

// What JSON, Python and XML take for whitespace.
inline bool is_mark_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace ruv
