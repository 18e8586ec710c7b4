#include "base/posix/process_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "base/posix/system_text.h"

namespace ruv {
namespace {

// The first n of the numbers, which spaces separate; what is not there is 0.
template <size_t n>
std::array<uint64_t, n> numbers_of(std::string_view text) {
  std::array<uint64_t, n> numbers{};
  for (uint64_t& number : numbers) {
    const size_t begin = std::min(text.find_first_not_of(' '), text.size());
    text.remove_prefix(begin);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc()) break;
    text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  }
  return numbers;
}

// The parent of a process: the number after its name, which is in brackets and may hold brackets,
// and after the letter of its state. 0: it has ended.
uint64_t parent_of(uint64_t pid) {
  const std::string stat = read_system_text(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = stat.rfind(") ");
  if (name_end == stat.npos || name_end + 3 > stat.size()) return 0;
  return numbers_of<1>(std::string_view(stat).substr(name_end + 3))[0];
}

// Children by their parents, of all processes that there are. Not every kernel lists the children
// of one process alone.
std::unordered_multimap<uint64_t, uint64_t> all_children() {
  std::unordered_multimap<uint64_t, uint64_t> children;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end;
       it.increment(error)) {
    const uint64_t pid = numbers_of<1>(it->path().filename().string())[0];
    if (pid != 0) children.emplace(parent_of(pid), pid);
  }
  return children;
}

}  // namespace

uint64_t memory_of_family(pid_t pid) {
  const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::unordered_multimap<uint64_t, uint64_t> children = all_children();
  std::vector<uint64_t> found{static_cast<uint64_t>(pid)};
  uint64_t n_pages = 0;
  // A number that was used again during the count could close a circle.
  for (size_t i = 0; i < found.size() && i <= children.size(); ++i) {
    const auto [all, resident, of_files] =
        numbers_of<3>(read_system_text(fmt::format("/proc/{}/statm", found[i])));
    if (resident > of_files) n_pages += resident - of_files;
    const auto [first, last] = children.equal_range(found[i]);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
  }
  return n_pages * page_bytes;
}

}  // namespace ruv
