// Shows how far a transfer is: a bar with speed and time left on a terminal, else lines at
// intervals where they were asked for.
#pragma once

#include <chrono>
#include <string>

#include "hub/transfer.h"
#include "terminal.h"

namespace ruv {

class TransferProgress {
 public:
  // `lines`: also where stderr is not a terminal.
  explicit TransferProgress(bool lines);
  ~TransferProgress();
  TransferProgress(const TransferProgress&) = delete;
  TransferProgress& operator=(const TransferProgress&) = delete;

  // As often as the transfer likes: most calls draw nothing.
  void show(const TransferState& state);

 private:
  using Time = std::chrono::steady_clock::time_point;
  // The speed, over the last seconds.
  void measure(const TransferState& state, Time now);
  // "1.2 GB of 4.0 GB, 30.1 MB/s, 1:33 left".
  std::string text_of(const TransferState& state) const;
  bool on_terminal_;
  bool lines_;
  bool drawn_ = false;
  bool said_waiting_ = false;
  Time next_draw_;
  Time measured_;
  uint64_t n_measured_ = 0;
  bool has_start_ = false;
  double bytes_per_second_ = 0;
};

// A transfer that a person waits for: shown, and stopped by Ctrl-C. Main thread only.
class AwaitedTransfer {
 public:
  explicit AwaitedTransfer(bool lines) : progress_(lines) {}
  // This object must outlive the transfer.
  TransferWatch watch() {
    return [this](const TransferState& state) {
      progress_.show(state);
      return !ctrl_c_.interrupted();
    };
  }

 private:
  InterruptScope ctrl_c_;
  TransferProgress progress_;
};

// "1:05:09", "4:07": for people.
std::string readable_seconds(double seconds);

}  // namespace ruv
