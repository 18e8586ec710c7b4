#include "transfer_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "terminal.h"

namespace ruv {
namespace {

constexpr int kTransferCells = 20;
constexpr auto kTransferRedraw = std::chrono::milliseconds(200);
constexpr auto kTransferLine = std::chrono::seconds(5);
constexpr double kMeasureSeconds = 0.5;

}  // namespace

std::string readable_seconds(double seconds) {
  const auto whole = static_cast<int64_t>(std::min(seconds, 1e9));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

TransferProgress::TransferProgress(bool lines) : on_terminal_(is_terminal(stderr)), lines_(lines) {}

TransferProgress::~TransferProgress() {
  if (drawn_ && on_terminal_) fmt::print(stderr, "\r\x1b[K");
}

// A mean that forgets what is some seconds old.
void TransferProgress::measure(const TransferState& state, Time now) {
  if (!std::exchange(has_start_, true)) {
    measured_ = now;
    n_measured_ = state.n_done;
    return;
  }
  const double seconds = std::chrono::duration<double>(now - measured_).count();
  if (seconds < kMeasureSeconds) return;
  const uint64_t n = std::max(state.n_done, n_measured_) - n_measured_;
  const double speed = static_cast<double>(n) / seconds;
  const double old = std::exp(-seconds / 5);
  bytes_per_second_ = bytes_per_second_ == 0 ? speed : bytes_per_second_ * old + speed * (1 - old);
  measured_ = now;
  n_measured_ = state.n_done;
}

std::string TransferProgress::text_of(const TransferState& state) const {
  std::string text = fmt::format("{} of {}", readable_bytes(static_cast<int64_t>(state.n_done)),
                                 readable_bytes(static_cast<int64_t>(state.n_bytes)));
  if (bytes_per_second_ < 1) return text;
  const auto left = static_cast<double>(state.n_bytes - std::min(state.n_bytes, state.n_done));
  return text + fmt::format(", {}/s, {} left",
                            readable_bytes(static_cast<int64_t>(bytes_per_second_)),
                            readable_seconds(left / bytes_per_second_));
}

void TransferProgress::show(const TransferState& state) {
  if (!on_terminal_ && !lines_) return;
  const Time now = std::chrono::steady_clock::now();
  if (state.is_waiting && !std::exchange(said_waiting_, true)) {
    fmt::print(stderr, "{}waiting for another process that fetches {}\n",
               on_terminal_ ? "\r\x1b[K" : "", state.file);
  }
  measure(state, now);
  if (now < next_draw_ || state.is_waiting) return;
  drawn_ = true;
  if (!on_terminal_) {
    next_draw_ = now + kTransferLine;
    fmt::print(stderr, "{}: {}\n", state.file, text_of(state));
    return;
  }
  next_draw_ = now + kTransferRedraw;
  const double share = state.n_bytes == 0
                           ? 1
                           : static_cast<double>(state.n_done) / static_cast<double>(state.n_bytes);
  const int full = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kTransferCells));
  fmt::print(stderr, "\r\x1b[K[{:=<{}}{:{}}] {:3.0f} % {}", "", full, "", kTransferCells - full,
             100 * share, text_of(state));
  std::fflush(stderr);
}

}  // namespace ruv
