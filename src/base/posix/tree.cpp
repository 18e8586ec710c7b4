#include "base/tree.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/posix/system_error.h"
#include "base/posix/system_text.h"

namespace ruv {
namespace fs = std::filesystem;
namespace {

int64_t size_or_zero(const fs::path& path) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(size);
}

// `error`: why it ended before the end, if so.
std::vector<TreeEntry> walk(const std::string& folder, size_t limit, std::error_code& error) {
  std::vector<TreeEntry> entries;
  fs::recursive_directory_iterator at(folder, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    if (entries.size() == limit) break;
    std::error_code ignored;
    const bool is_link = at->is_symlink(ignored);
    if (!is_link && !at->is_regular_file(ignored)) continue;
    TreeEntry entry;
    entry.path = at->path().lexically_relative(folder).generic_string();
    entry.is_link = is_link;
    if (is_link) entry.link_target = fs::read_symlink(at->path(), ignored).string();
    entry.n_bytes = size_or_zero(at->path());
    entries.push_back(std::move(entry));
  }
  std::ranges::sort(entries, {}, &TreeEntry::path);
  return entries;
}

}  // namespace

std::vector<TreeEntry> files_below(const std::string& folder, size_t limit) {
  std::error_code ignored;
  return walk(folder, limit, ignored);
}

Result<std::vector<TreeEntry>> all_files_below(const std::string& folder) {
  constexpr size_t kLimit = 1'000'000;
  std::error_code error;
  std::vector<TreeEntry> entries = walk(folder, kLimit, error);
  if (error == std::errc::no_such_file_or_directory && entries.empty()) return entries;
  if (error) return fail(Code::invalid, "{}: cannot be read: {}", folder, error.message());
  if (entries.size() < kLimit) return entries;
  return fail(Code::unsupported, "{}: {} files or more", folder, kLimit);
}

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_symlink(ignored) || !at->is_directory(ignored)) continue;
    names.push_back(at->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

// Under a name of its own first, so that the link appears whole.
Status make_link(const std::string& target, const std::string& path) {
  const std::string temporary = fmt::format("{}.{}.link", path, ::getpid());
  ::unlink(temporary.c_str());
  if (::symlink(target.c_str(), temporary.c_str()) != 0) return system_failure(path, "link");
  const Status status = rename_file(temporary, path);
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

Status rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return system_failure(from, "rename");
  return {};
}

Status remove_tree(const std::string& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) return fail(Code::invalid, "{}: cannot remove: {}", folder, error.message());
  return {};
}

bool remove_empty_folder(const std::string& folder) {
  std::error_code error;
  return fs::is_directory(folder, error) && fs::remove(folder, error) && !error;
}

std::string machine_start_id() {
  std::string id = read_system_text("/proc/sys/kernel/random/boot_id");
  id.erase(std::min(id.find_first_of("\r\n"), id.size()));
  return id;
}

}  // namespace ruv
