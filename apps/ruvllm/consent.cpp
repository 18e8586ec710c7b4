#include "consent.h"

#include <fmt/format.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "shown_text.h"
#include "terminal.h"

namespace ruv {
namespace {

constexpr size_t kAskedDescription = 200;

// A line that is typed after the question. Nothing: Ctrl-C or the end of the input.
std::optional<std::string> typed_line() {
  constexpr int kPieceMs = 50;
  std::string line;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (!interrupt_seen()) {
    const int ready = ::poll(&input, 1, kPieceMs);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    char byte = 0;
    const ssize_t n = ready < 0 ? -1 : ::read(STDIN_FILENO, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    if (byte == '\n') return line;
    line.push_back(byte);
  }
  return std::nullopt;
}

// A tool that a server changes later is another one.
std::string identity_of(const RegisteredTool& tool) {
  const ToolSpec& spec = tool.spec();
  return Json{tool.source(), spec.name, spec.description, spec.parameters}.dump();
}

}  // namespace

bool has_consent(const CommandLine& line, const std::string& question, bool all) {
  if (all) return true;
  if (!is_terminal(stdin) || !is_terminal(stderr)) {
    line.error("it needs consent, and there is no terminal to ask at; --yes gives it");
    return false;
  }
  const InterruptScope ctrl_c;
  while (true) {
    // What was typed before the question does not answer it.
    ::tcflush(STDIN_FILENO, TCIFLUSH);
    fmt::print(stderr, "{} [y]es, [n]o: ", question);
    const std::optional<std::string> typed = typed_line();
    if (!typed) fmt::print(stderr, "\n");
    if (!typed || *typed == "n" || *typed == "no") return false;
    if (*typed == "y" || *typed == "yes") return true;
  }
}

Consent::Consent(const CommandLine& line, bool all)
    : line_(line), all_(all), has_person_(is_terminal(stdin) && is_terminal(stderr)) {}

bool Consent::ask(const ToolRequest& call, const RegisteredTool& tool) {
  const std::string identity = identity_of(tool);
  if (all_ || always_.contains(identity)) return true;
  if (!has_person_) {
    line_.note(fmt::format(
        "{} was not run: it needs consent, and there is no terminal to ask at; --yes allows all "
        "calls",
        call.name));
    return false;
  }
  const TerminalStyle style = style_of(stderr);
  fmt::print(stderr, "{}{}{} of {}: {}\n{}\n", style.bold, call.name, style.reset,
             shown_text(tool.source(), kAskedDescription),
             shown_text(tool.spec().description, kAskedDescription),
             shown_text(call.arguments, kWholeText));
  while (true) {
    // What was typed before the question does not answer it.
    ::tcflush(STDIN_FILENO, TCIFLUSH);
    fmt::print(stderr, "Run it? [y]es, [n]o, [a]lways this tool: ");
    const std::optional<std::string> typed = typed_line();
    if (!typed) {
      fmt::print(stderr, "\n");
      return false;
    }
    if (*typed == "n" || *typed == "no") return false;
    const bool always = *typed == "a" || *typed == "always";
    if (always) always_.insert(identity);
    if (always || *typed == "y" || *typed == "yes") return true;
  }
}

}  // namespace ruv
