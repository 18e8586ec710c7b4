#include "base/posix/memory_limit.h"

#include <algorithm>
#include <charconv>

#include "base/posix/system_text.h"

namespace ruv {
namespace {

// The lesser of `least` and the number in the file; "max" is not a number.
void lower(std::optional<int64_t>& least, const std::string& path) {
  const std::string text = read_system_text(path);
  int64_t limit = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (wrong != std::errc() || limit <= 0) return;
  least = std::min(limit, least.value_or(limit));
}

// Counts the group at `path`, which begins with a slash, and all that it is in.
void lower_along(std::optional<int64_t>& least, const std::string& root, std::string_view path,
                 const char* file) {
  while (path.ends_with('/')) path.remove_suffix(1);
  while (true) {
    lower(least, root + std::string(path) + "/" + file);
    if (path.empty()) return;
    path = path.substr(0, std::min(path.rfind('/'), path.size()));
  }
}

// Whether `word` is one of a list with commas.
bool is_listed(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace

std::optional<int64_t> memory_limit(std::string_view groups, const std::string& root) {
  std::optional<int64_t> least;
  while (!groups.empty()) {
    const size_t end = std::min(groups.find('\n'), groups.size());
    const std::string_view line = groups.substr(0, end);
    groups.remove_prefix(std::min(end + 1, groups.size()));
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (!path.starts_with('/')) continue;
    if (controllers.empty()) {
      lower_along(least, root, path, "memory.max");
      lower_along(least, root + "/unified", path, "memory.max");
    } else if (is_listed(controllers, "memory")) {
      lower_along(least, root + "/memory", path, "memory.limit_in_bytes");
    }
  }
  return least;
}

std::optional<int64_t> memory_limit() {
  return memory_limit(read_system_text("/proc/self/cgroup"), "/sys/fs/cgroup");
}

}  // namespace ruv
