#include "base/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/file.h"

namespace ruv {

Status make_folder(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && !is_directory(part)) {
      return fail(Code::invalid, "{}: cannot make the folder: {}", part,
                  std::generic_category().message(errno));
    }
    if (end == std::string::npos) break;
  }
  if (!is_directory(path)) return fail(Code::invalid, "{}: is not a folder", path);
  return {};
}

std::vector<FolderEntry> files_in(const std::string& folder) {
  std::vector<FolderEntry> entries;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (std::error_code ignored; !it->is_regular_file(ignored)) continue;
    const std::string path = it->path().string();
    if (const Result<FileStamp> stamp = stamp_of(path); stamp) {
      entries.push_back({path, static_cast<int64_t>(stamp->n_bytes), stamp->modified_ns});
    }
  }
  return entries;
}

Result<DiskRoom> disk_room(const std::string& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) {
    return fail(Code::not_found, "{}: {}", folder, std::generic_category().message(errno));
  }
  const auto unit = static_cast<int64_t>(info.f_frsize);
  return DiskRoom{static_cast<int64_t>(info.f_blocks) * unit,
                  static_cast<int64_t>(info.f_bavail) * unit};
}

void touch_file(const std::string& path) { ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

bool remove_file(const std::string& path) { return ::unlink(path.c_str()) == 0 || errno == ENOENT; }

}  // namespace ruv
