// StopText: watches an answer's text for stop strings. Text that might be the start of one is held
// back until it is certain, so a stop string never reaches the user, not even in part.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ruv {

class StopText {
 public:
  explicit StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  // Adds text; returns what is now certain to belong to the answer. After a stop string, nothing
  // more does.
  std::string push(std::string_view text);
  // What was held back, when the answer ends otherwise.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace ruv
