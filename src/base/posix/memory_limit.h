// The memory that Linux's control groups leave this process, as containers and services are
// limited.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ruv {

// The least limit in bytes of a process's groups and of those that they are in; nothing when none
// is limited. `groups`: the text of /proc/<pid>/cgroup. `root`: where the groups' file systems are
// mounted, of version 1 in one folder per controller, of version 2 there or in "unified". Groups
// that are not to be seen there, as from inside a container, are passed over.
std::optional<int64_t> memory_limit(std::string_view groups, const std::string& root);
// The least, of the same groups, of what a limit leaves for pages of files: all but what the group
// uses otherwise. Groups that do not say what they use are passed over.
std::optional<int64_t> file_memory_limit(std::string_view groups, const std::string& root);
// Those of this process.
std::optional<int64_t> memory_limit();
std::optional<int64_t> file_memory_limit();

// The number that follows `name`, the first word of a line of `text`.
std::optional<int64_t> number_after(std::string_view text, std::string_view name);

}  // namespace ruv
