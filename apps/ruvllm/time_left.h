// How long a job still takes, for progress bars.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace ruv {

// "3 min left", from the parts that were done since the first call.
class TimeLeft {
 public:
  std::string after(int64_t n_done, int64_t n) {
    if (first_ < 0) first_ = n_done;
    if (n_done == first_) return {};
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    const double seconds =
        passed.count() / static_cast<double>(n_done - first_) * static_cast<double>(n - n_done);
    return seconds < 100 ? fmt::format("{:.0f} s left", seconds)
                         : fmt::format("{:.0f} min left", seconds / 60);
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int64_t first_ = -1;
};

}  // namespace ruv
