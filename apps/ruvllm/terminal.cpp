// The terminal's side of the program, over POSIX.
#include "terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace ruv {
namespace {

volatile sig_atomic_t g_interrupted = 0;
int g_scopes = 0;
Talkative g_talk = Talkative::usual;

constexpr size_t kNarrowest = 40;
constexpr size_t kWidest = 120;  // longer lines are hard to read
constexpr int kBarCells = 30;
constexpr auto kFirstDraw = std::chrono::milliseconds(300);
constexpr auto kLineEvery = std::chrono::milliseconds(2000);
constexpr auto kRedraw = std::chrono::milliseconds(80);

bool is_dumb() {
  const char* term = std::getenv("TERM");
  return term == nullptr || std::string_view(term) == "dumb";
}

std::string scaled(int64_t n, int digits) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  double value = static_cast<double>(n);
  size_t prefix = 0;
  for (; value >= 1000; value /= 1000) ++prefix;
  return fmt::format("{:.{}f} {}", value, prefix == 0 ? 0 : digits, kPrefixes[prefix]);
}

}  // namespace

bool is_terminal(FILE* stream) { return isatty(fileno(stream)) == 1; }

bool can_redraw(FILE* stream) { return is_terminal(stream) && !is_dumb(); }

size_t text_width() {
  size_t width = 80;
  winsize window{};
  if (const char* const columns = std::getenv("COLUMNS"); columns != nullptr) {
    const std::string_view text(columns);
    size_t given = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), given);
    if (error == std::errc() && given > 0) width = given;
  } else if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
    width = window.ws_col;
  }
  return std::clamp(width, kNarrowest, kWidest);
}

void set_talk(Talkative talk) { g_talk = talk; }
bool is_quiet() { return g_talk == Talkative::quiet; }
bool is_verbose() { return g_talk == Talkative::verbose; }

TerminalStyle style_of(FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool refused = no_color != nullptr && *no_color != '\0';
  if (refused || is_dumb() || !is_terminal(stream)) return {};
  return {"\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[0m"};
}

ProgressBar::ProgressBar(std::string label, Piped piped)
    : label_(std::move(label)),
      active_(can_redraw(stderr) && !is_quiet()),
      as_lines_(!is_terminal(stderr) && piped == Piped::lines && !is_quiet()),
      next_draw_(std::chrono::steady_clock::now() + (as_lines_ ? kLineEvery : kFirstDraw)) {}

void ProgressBar::update(double share) {
  const Time now = std::chrono::steady_clock::now();
  if (!(active_ || as_lines_) || now < next_draw_) return;
  if (as_lines_) {
    next_draw_ = now + kLineEvery;
    fmt::print(stderr, "{} {:.0f} %{}{}\n", label_, 100 * std::clamp(share, 0.0, 1.0),
               note_.empty() ? "" : ", ", note_);
    return;
  }
  next_draw_ = now + kRedraw;
  drawn_ = true;
  const double part = std::clamp(share, 0.0, 1.0);
  const int full = static_cast<int>(std::lround(part * kBarCells));
  fmt::print(stderr, "\r{} [{:=<{}}{:{}}] {:3.0f} %{}{}{}", label_, "", full, "", kBarCells - full,
             100 * part, note_.empty() ? "" : ", ", note_, note_.empty() ? "" : "\x1b[K");
  std::fflush(stderr);
}

ProgressBar::~ProgressBar() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
}

InterruptScope::InterruptScope() {
  if (g_scopes++ == 0) forget_interrupt();
  struct sigaction action = {};
  action.sa_handler = [](int) { g_interrupted = 1; };
  // No SA_RESTART: a read that waits for a line must return.
  sigaction(SIGINT, &action, &previous_);
}

InterruptScope::~InterruptScope() {
  --g_scopes;
  sigaction(SIGINT, &previous_, nullptr);
}

void forget_interrupt() { g_interrupted = 0; }

bool InterruptScope::interrupted() const { return interrupt_seen(); }

bool interrupt_seen() { return g_interrupted != 0; }

std::string readable_bytes(int64_t bytes) { return scaled(bytes, 1) + "B"; }
std::string readable_count(int64_t count) {
  std::string text = scaled(count, 2);
  if (text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace ruv
