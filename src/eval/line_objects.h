// Files with a JSON object in each line: those of samples of our own form, and those that some data
// sets are published in. Blank lines are counted and nothing else.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace ruv {

// Calls f(object), which returns a Status, for each line that is not blank, at most `limit` (0:
// all). Fails: corrupt (a line that is not an object) and as f, with `source` and the line.
template <class F>
Status each_line_object(std::string_view content, std::string_view source, int64_t limit, F&& f) {
  // A line by itself, so that what fails in it is named with its number.
  const auto take = [&f](std::string_view text) -> Status {
    const Json line = TRY(parse_json(text, "sample"));
    if (!line.is_object()) return fail(Code::corrupt, "not a JSON object");
    return f(line);
  };
  int64_t n_done = 0;
  for (int64_t number = 1; !content.empty() && (limit == 0 || n_done < limit); ++number) {
    const size_t end = std::min(content.find('\n'), content.size());
    const std::string_view text = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    const Status done = take(text);
    if (!done.ok()) return with_context(fmt::format("{}: line {}", source, number), done);
    ++n_done;
  }
  return {};
}

}  // namespace ruv
