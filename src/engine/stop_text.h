// StopText: watches an answer's text for stop strings. Text that could be the start of one is held
// back until that is decided, so no part of a stop string ever reaches the user. The cost is that
// up to the longest stop string of text arrives later.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ruv {

class StopText {
 public:
  // `include`: the stop string belongs to the answer, too.
  explicit StopText(std::vector<std::string> stops, bool include = false)
      : stops_(std::move(stops)), include_(include) {}

  // Whether a stop string that ends in text that is added from now on counts.
  void watch(bool on) { is_watching_ = on; }
  // Adds text and returns what now certainly belongs to the answer. Returns nothing after a stop
  // string.
  std::string push(std::string_view text);
  // The text held back, when the answer ends without a stop string.
  std::string finish();
  bool stopped() const { return stopped_; }
  // The stop string that came; empty: none has.
  const std::string& found() const { return found_; }

 private:
  std::vector<std::string> stops_;
  bool include_;
  bool is_watching_ = true;
  std::string held_;
  size_t n_passed_ = 0;  // of held_: stop strings that end here have not counted
  std::string found_;
  bool stopped_ = false;
};

}  // namespace ruv
