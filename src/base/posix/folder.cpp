#include "base/folder.h"

#include <filesystem>
#include <system_error>

#include "base/file.h"

namespace ruv {
namespace fs = std::filesystem;

Status make_shared_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail(Code::invalid, "{}: cannot make the folder: {}", path, error.message());
  return {};
}

// Only the folders made here get mode 0700.
Status make_folder(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> made;
  for (fs::path at = path; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    made.push_back(at);
  }
  TRY(make_shared_folder(path));
  for (const fs::path& folder : made) fs::permissions(folder, fs::perms::owner_all, error);
  return {};
}

std::vector<FolderEntry> files_in(const std::string& folder) {
  std::vector<FolderEntry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (std::error_code ignored; !it->is_regular_file(ignored)) continue;
    const std::string path = it->path().string();
    if (const Result<FileStamp> stamp = stamp_of(path); stamp) {
      entries.push_back({path, static_cast<int64_t>(stamp->n_bytes), stamp->modified_ns});
    }
  }
  return entries;
}

Result<DiskRoom> disk_room(const std::string& folder) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error) return fail(Code::not_found, "{}: {}", folder, error.message());
  return DiskRoom{static_cast<int64_t>(space.capacity), static_cast<int64_t>(space.available)};
}

void touch_file(const std::string& path) {
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
}

bool remove_file(const std::string& path) {
  std::error_code error;
  if (is_directory(path)) return false;
  fs::remove(path, error);
  return !error;
}

}  // namespace ruv
