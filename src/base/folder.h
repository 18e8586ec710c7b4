// Folders: what is in them, how much room is left, and removing files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace ruv {

// A regular file in a folder.
struct FolderEntry {
  std::string path;
  int64_t n_bytes = 0;
  int64_t modified_ns = 0;
};

// Makes the folder and those above it that are missing, all for the user alone (mode 0700). Fails:
// invalid, naming the system's reason.
Status make_folder(const std::string& path);
// The same for a folder that is handed to others: with the permissions that the process's umask
// gives.
Status make_shared_folder(const std::string& path);
// The regular files in a folder, in no order; none when it cannot be read.
std::vector<FolderEntry> files_in(const std::string& folder);
struct DiskRoom {
  int64_t n_bytes = 0;  // the whole file system
  int64_t n_free = 0;   // what this user may still write
};
// Fails: not_found, invalid.
Result<DiskRoom> disk_room(const std::string& folder);
// Sets the time of last change to now. What cannot be touched stays as it is.
void touch_file(const std::string& path);
// False: it is still there.
bool remove_file(const std::string& path);

}  // namespace ruv
