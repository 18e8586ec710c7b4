// LineEditor over libedit. Bytes are read here rather than by libedit, which retries a read that
// Ctrl-C broke off.
#include "line_editor.h"

#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>

#include "base/utf8.h"
#include "data_folder.h"
#include "terminal.h"

namespace ruv {
namespace {

constexpr int kHistoryLines = 1000;

// libedit's callbacks know no context of ours but through EL_CLIENTDATA.
const char* prompt_of(EditLine* edit) {
  void* prompt = nullptr;
  el_get(edit, EL_CLIENTDATA, &prompt);
  return static_cast<const char*>(prompt);
}

char* show_prompt(EditLine* edit) { return const_cast<char*>(prompt_of(edit)); }

// 1 read, 0 the end, -1 broken off by Ctrl-C. It waits in short pieces, because the signal may come
// just before a wait that would then not notice it.
int read_byte(unsigned char& byte) {
  constexpr int kPieceMs = 50;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (!interrupt_seen()) {
    const int ready = ::poll(&input, 1, kPieceMs);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t n = ready < 0 ? -1 : ::read(STDIN_FILENO, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    return n < 0 ? -1 : static_cast<int>(n);
  }
  return -1;
}

size_t sequence_size(unsigned char first) {
  if (first >= 0xF0) return 4;
  if (first >= 0xE0) return 3;
  return first >= 0xC0 ? 2 : 1;
}

// One character from the terminal: 1 read, 0 the end, -1 broken off by a signal.
int read_character(EditLine*, wchar_t* out) {
  unsigned char byte = 0;
  if (const int n = read_byte(byte); n <= 0) return n;
  std::string sequence(1, static_cast<char>(byte));
  while (sequence.size() < sequence_size(static_cast<unsigned char>(sequence[0]))) {
    if (const int n = read_byte(byte); n <= 0) return n;
    sequence.push_back(static_cast<char>(byte));
  }
  *out = static_cast<wchar_t>(decode_utf8(sequence, 0).value);
  return 1;
}

constexpr std::string_view kPasteEnd = "\x1b[201~";

// What a terminal says is pasted, up to its mark at the end. Line breaks are those of the text;
// other control characters would be keys, and are dropped.
std::string read_paste() {
  std::string text;
  unsigned char byte = 0;
  while (!text.ends_with(kPasteEnd)) {
    if (read_byte(byte) <= 0) break;
    text.push_back(static_cast<char>(byte));
  }
  if (text.ends_with(kPasteEnd)) text.resize(text.size() - kPasteEnd.size());
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c == '\r') {
      out.push_back('\n');
      if (at + 1 < text.size() && text[at + 1] == '\n') ++at;
    } else if (c == '\n' || c == '\t' || (c >= ' ' && c != 0x7F)) {
      out.push_back(text[at]);
    }
  }
  out.erase(out.find_last_not_of('\n') + 1);  // Enter sends it, as it sends a typed line
  return out;
}

unsigned char insert_paste(EditLine* edit, int) {
  const std::string text = read_paste();
  if (!text.empty() && el_insertstr(edit, text.c_str()) != 0) return CC_ERROR;
  return CC_REFRESH;
}

unsigned char insert_line_break(EditLine* edit, int) {
  return el_insertstr(edit, "\n") == 0 ? CC_REFRESH : CC_ERROR;
}

// While it lives, the terminal marks what is pasted.
class BracketedPaste {
 public:
  BracketedPaste() { put("\x1b[?2004h"); }
  ~BracketedPaste() { put("\x1b[?2004l"); }
  BracketedPaste(const BracketedPaste&) = delete;
  BracketedPaste& operator=(const BracketedPaste&) = delete;

 private:
  void put(const char* codes) const {
    if (!is_known_) return;
    std::fputs(codes, stdout);
    std::fflush(stdout);
  }
  const char* const term_ = std::getenv("TERM");
  const bool is_known_ = term_ != nullptr && std::string_view(term_) != "dumb";
};

void use_utf8_locale() {
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
}

std::string without_line_break(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  return std::string(line);
}

}  // namespace

struct LineEditor::Session {
  explicit Session(std::string path) : history_file(std::move(path)) {
    use_utf8_locale();
    edit = el_init("ruvllm", stdin, stdout, stderr);
    lines = history_init();
    HistEvent event;
    history(lines, &event, H_SETSIZE, kHistoryLines);
    history(lines, &event, H_SETUNIQUE, 1);
    if (!history_file.empty()) history(lines, &event, H_LOAD, history_file.c_str());
    el_set(edit, EL_EDITOR, "emacs");
    el_set(edit, EL_PROMPT, show_prompt);
    el_set(edit, EL_GETCFN, read_character);
    el_set(edit, EL_HIST, history, lines);
    el_set(edit, EL_ADDFN, "ruvllm-paste", "Insert what is pasted", insert_paste);
    el_set(edit, EL_ADDFN, "ruvllm-line", "Begin a new line", insert_line_break);
    el_set(edit, EL_BIND, "\x1b[200~", "ruvllm-paste", nullptr);
    el_set(edit, EL_BIND, "\x1b\r", "ruvllm-line", nullptr);
    el_set(edit, EL_BIND, "\x1b\n", "ruvllm-line", nullptr);
    el_source(edit, nullptr);
  }
  ~Session() {
    HistEvent event;
    if (!history_file.empty()) history(lines, &event, H_SAVE, history_file.c_str());
    history_end(lines);
    el_end(edit);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  TypedLine read(const char* prompt) {
    InterruptScope ctrl_c;
    const BracketedPaste paste;
    forget_interrupt();
    el_set(edit, EL_CLIENTDATA, const_cast<char*>(prompt));
    el_resize(edit);
    // Before the prompt is shown: a Ctrl-D that the kernel took in line mode would be lost.
    el_set(edit, EL_PREP_TERM, 1);
    int n = 0;
    const char* line = el_gets(edit, &n);
    if (line != nullptr && n > 0) {
      HistEvent event;
      if (*line != '\n') history(lines, &event, H_ENTER, line);
      return {TypedLine::Kind::text, without_line_break({line, static_cast<size_t>(n)})};
    }
    std::fputc('\n', stdout);
    if (!ctrl_c.interrupted()) return {};
    el_reset(edit);
    return {TypedLine::Kind::interrupted, ""};
  }

  EditLine* edit = nullptr;
  History* lines = nullptr;
  std::string history_file;
};

LineEditor::LineEditor(std::string history_path) {
  if (is_terminal(stdin) && is_terminal(stdout))
    session_ = std::make_unique<Session>(std::move(history_path));
}

LineEditor::~LineEditor() = default;

TypedLine LineEditor::read(const char* prompt) {
  if (session_) return session_->read(prompt);
  TypedLine line;
  if (!std::getline(std::cin, line.text)) return {};
  line.kind = TypedLine::Kind::text;
  line.text = without_line_break(line.text);
  return line;
}

std::string history_path() {
  const std::filesystem::path folder = default_data_folder();
  if (folder.empty()) return "";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? "" : (folder / "history").string();
}

}  // namespace ruv
