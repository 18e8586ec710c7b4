// Messages that are one line each, as MCP has them between processes.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv {

class MessageLines {
 public:
  explicit MessageLines(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Calls on_line for each line that is complete now and not blank, in linear time. A view is valid
  // during its call. Fails: corrupt, where a line is longer than the limit.
  Status feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line) {
    while (!bytes.empty()) {
      const size_t end = std::min(bytes.find('\n'), bytes.size());
      if (end > max_bytes_ - std::min(max_bytes_, line_.size()))
        return fail(Code::corrupt, "a message of more than {} bytes", max_bytes_);
      line_.append(bytes.substr(0, end));
      if (end == bytes.size()) break;
      bytes.remove_prefix(end + 1);
      if (line_.find_first_not_of(" \t\r") != line_.npos) on_line(line_);
      line_.clear();
    }
    return {};
  }

 private:
  size_t max_bytes_;
  std::string line_;
};

}  // namespace ruv
