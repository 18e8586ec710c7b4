// What only a person at a terminal should see: colours, progress bars, and Ctrl-C caught. Pipes and
// files get plain text; NO_COLOR (no-color.org) and TERM=dumb are honoured.
#pragma once

#include <signal.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace ruv {

bool is_terminal(FILE* stream);

// Whether lines of it can be written over: a terminal that knows escape codes.
bool can_redraw(FILE* stream);

// Columns for texts on stdout, 40 to 120: the variable COLUMNS, else the window's, else 80.
size_t text_width();

// How much the program says on stderr besides warnings and errors.
enum class Talkative {
  quiet,  // no progress, speeds, remarks
  usual,
  verbose,
};
void set_talk(Talkative talk);
bool is_quiet();
bool is_verbose();

// Escape codes for one stream, all empty when it takes no colours.
struct TerminalStyle {
  const char* bold = "";
  const char* dim = "";
  const char* red = "";
  const char* reset = "";
};
TerminalStyle style_of(FILE* stream);

// A progress bar on stderr for work that takes longer than a moment. Where stderr is not a terminal
// nothing is written, or a line now and then.
class ProgressBar {
 public:
  enum class Piped { nothing, lines };
  explicit ProgressBar(std::string label, Piped piped = Piped::nothing);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `share` in [0, 1].
  void update(double share);
  // Shown after the share from the next update on.
  void set_note(std::string note) { note_ = std::move(note); }

 private:
  using Time = std::chrono::steady_clock::time_point;
  std::string label_;
  std::string note_;
  bool active_;
  bool as_lines_;
  bool drawn_ = false;
  Time next_draw_;
};

// While it lives, Ctrl-C sets a flag instead of ending the program. Scopes may nest; all see one
// flag, which the outermost clears when it begins: a Ctrl-C between two inner scopes is not lost.
// Main thread only.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  bool interrupted() const;

 private:
  struct sigaction previous_;
};

// What InterruptScope::interrupted says, for callbacks that do not see the scope.
bool interrupt_seen();
// Clears the flag: what was interrupted has ended.
void forget_interrupt();

// "14.8 MB", in powers of ten.
std::string readable_bytes(int64_t bytes);
// "7.35 M".
std::string readable_count(int64_t count);

}  // namespace ruv
