// OutputReader: what the two shapes of answers share: the text to be read and the deltas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/argument_reader.h"
#include "chat/tools/tool_parser.h"

namespace ruv {

// Passes a text on without the whitespace at its ends, as far as it is known to.
class TrimmedText {
 public:
  // The text has begun elsewhere: nothing is trimmed from its front.
  void assume_begun() { begun_ = true; }
  // Whitespace that comes next says nothing.
  void skip_space() { skipping_ = true; }
  // Whitespace at the end that is kept back once the text has begun; it may be dropped.
  void set_kept_back(size_t n) { n_kept_back_ = n; }
  bool begun() const { return begun_; }

  // Returns what is certain to belong to the text.
  std::string push(std::string_view text);
  // What was kept back: all of it; all but `gap` at its end; nothing.
  std::string flush();
  std::string flush_before(std::string_view gap);
  void drop() { held_.clear(); }
  const std::string& kept_back() const { return held_; }

 private:
  // Whitespace before a text that is kept back at most.
  static constexpr size_t kMaxLeading = 64;

  bool begun_ = false;  // something but whitespace has come
  bool skipping_ = false;
  size_t n_kept_back_ = 0;
  std::string held_;
};

class OutputReader {
 public:
  OutputReader(ToolDialect dialect, ToolParserOptions options)
      : dialect_(std::move(dialect)), options_(std::move(options)) {}
  virtual ~OutputReader() = default;

  // As ToolParser.
  void feed(std::string_view text, std::vector<ToolDelta>& deltas);
  void finish(std::vector<ToolDelta>& deltas);
  bool done() const { return done_; }
  const ToolWarnings& warnings() const { return warnings_; }
  uint64_t work() const { return text_.work(); }

 protected:
  // Reads until more text is needed.
  virtual void read() = 0;
  // After the last text: gives away what is kept back.
  virtual void close() = 0;

  // Text for the reader, reasoning, and what was not as it should be.
  void put_content(std::string_view text) { put(ToolDelta::Kind::content, 0, text); }
  void put_reasoning(std::string_view text) { put(ToolDelta::Kind::reasoning, 0, text); }
  void warn(ToolWarning::Kind kind) { warnings_.push_back({kind, text_.offset()}); }

  // A call goes through these in order; broken calls end with break_call. A call's index is the
  // number of calls begun before it.
  void begin_call(const std::string& name, const std::string& id);
  void put_arguments(std::string& json);
  void end_call(const std::string& late_id);
  void break_call();
  bool call_open() const { return call_open_; }
  size_t n_calls_ended() const { return n_ended_; }

  ToolDialect dialect_;
  ToolParserOptions options_;
  TextCursor text_;
  ToolWarnings warnings_;

 private:
  // Appends to the last delta if it is of the same kind.
  void put(ToolDelta::Kind kind, size_t call, std::string_view text);

  std::vector<ToolDelta>* deltas_ = nullptr;
  size_t n_begun_ = 0;
  size_t n_ended_ = 0;
  bool call_open_ = false;
  bool done_ = false;
};

// The readers of the two shapes.
std::unique_ptr<OutputReader> make_marked_reader(ToolDialect dialect, ToolParserOptions options);
std::unique_ptr<OutputReader> make_channel_reader(ToolDialect dialect, ToolParserOptions options);

}  // namespace ruv
