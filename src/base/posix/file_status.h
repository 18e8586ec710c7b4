// What stat() says of a file, in this library's words.
#pragma once

#include <sys/stat.h>

#include "base/file.h"

namespace ruv {

// Since the epoch.
inline int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_nsec};
}

// Size and times, by which a change of the file is noticed.
inline FileStamp stamp_from(const struct stat& info) {
  return {static_cast<uint64_t>(info.st_size), nanoseconds(info.st_mtim),
          nanoseconds(info.st_ctim)};
}

// Device and inode, which identify the file under all its names.
inline FileId id_from(const struct stat& info) { return {info.st_dev, info.st_ino}; }

// What a name leads to in place of a file that can be read and replaced as one.
inline std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// The error for anything that is not a regular file.
inline tl::unexpected<Status> no_file(const std::string& path, mode_t mode) {
  return fail(Code::invalid, "{}: {}, not a regular file", path, kind_of(mode));
}

}  // namespace ruv
