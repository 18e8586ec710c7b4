// LineEditor: lines from a person at a terminal, with editing and a history that is kept between
// sessions (libedit), or plain lines from a pipe.
#pragma once

#include <memory>
#include <string>

namespace ruv {

struct TypedLine {
  enum class Kind {
    text,
    interrupted,  // Ctrl-C: the line was thrown away
    end,          // Ctrl-D, or the input has no more lines
  } kind = Kind::end;
  std::string text;  // without the line break
};

class LineEditor {
 public:
  // `history_path` empty: nothing is kept.
  explicit LineEditor(std::string history_path);
  ~LineEditor();

  bool interactive() const { return session_ != nullptr; }
  // Waits for a line; `prompt` shows only to a person.
  TypedLine read(const char* prompt);

 private:
  struct Session;
  std::unique_ptr<Session> session_;
};

// $XDG_DATA_HOME/ruvllm/history, else ~/.local/share/ruvllm/history; the folder is made. Empty
// when there is no home.
std::string history_path();

}  // namespace ruv
