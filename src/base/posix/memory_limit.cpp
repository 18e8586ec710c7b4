#include "base/posix/memory_limit.h"

#include <algorithm>
#include <charconv>

#include "base/posix/system_text.h"

namespace ruv {
namespace {

// How a version of control groups names its files, and the numbers of memory.stat.
struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* file_pages;    // in memory.stat; among them
  const char* shared_pages;  // those of memory that processes share, which no file has
};
constexpr GroupFiles kVersion1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_cache",
                                  "total_shmem"};
constexpr GroupFiles kVersion2 = {"/memory.max", "/memory.current", "file", "shmem"};

// "max" is not a number.
std::optional<int64_t> number_in(const std::string& path) {
  const std::string text = read_system_text(path);
  int64_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc() || number <= 0) return std::nullopt;
  return number;
}

std::optional<int64_t> limit_of(const std::string& group, const GroupFiles& files) {
  return number_in(group + files.limit);
}

std::optional<int64_t> file_limit_of(const std::string& group, const GroupFiles& files) {
  const std::optional<int64_t> limit = limit_of(group, files);
  const std::optional<int64_t> usage = number_in(group + files.usage);
  const std::string stat = read_system_text(group + "/memory.stat");
  const std::optional<int64_t> pages = number_after(stat, files.file_pages);
  if (!limit || !usage || !pages) return std::nullopt;
  const int64_t droppable = *pages - number_after(stat, files.shared_pages).value_or(0);
  return std::max<int64_t>(0, *limit - std::max<int64_t>(0, *usage - droppable));
}

using GroupNumber = std::optional<int64_t> (*)(const std::string& group, const GroupFiles& files);

// Lowers `least` to the number of the group at `path`, which begins with a slash, and of all that
// it is in.
void lower_along(std::optional<int64_t>& least, const std::string& root, std::string_view path,
                 const GroupFiles& files, GroupNumber number_of) {
  while (path.ends_with('/')) path.remove_suffix(1);
  while (true) {
    const std::optional<int64_t> number = number_of(root + std::string(path), files);
    if (number) least = std::min(*number, least.value_or(*number));
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

std::optional<int64_t> least_of_groups(std::string_view groups, const std::string& root,
                                       GroupNumber number_of) {
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
      lower_along(least, root, path, kVersion2, number_of);
      lower_along(least, root + "/unified", path, kVersion2, number_of);
    } else if (is_listed(controllers, "memory")) {
      lower_along(least, root + "/memory", path, kVersion1, number_of);
    }
  }
  return least;
}

}  // namespace

std::optional<int64_t> memory_limit(std::string_view groups, const std::string& root) {
  return least_of_groups(groups, root, limit_of);
}

std::optional<int64_t> file_memory_limit(std::string_view groups, const std::string& root) {
  return least_of_groups(groups, root, file_limit_of);
}

std::optional<int64_t> memory_limit() {
  return memory_limit(read_system_text("/proc/self/cgroup"), "/sys/fs/cgroup");
}

std::optional<int64_t> file_memory_limit() {
  return file_memory_limit(read_system_text("/proc/self/cgroup"), "/sys/fs/cgroup");
}

std::optional<int64_t> number_after(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (!line.starts_with(' ') && !line.starts_with('\t')) continue;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    int64_t number = 0;
    const auto [after, wrong] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (wrong == std::errc()) return number;
  }
  return std::nullopt;
}

}  // namespace ruv
