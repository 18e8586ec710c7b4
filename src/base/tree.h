// Trees of folders with symbolic links, as a cache of downloads has them. POSIX systems only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace ruv {

// A file or symbolic link somewhere below a folder.
struct TreeEntry {
  std::string path;         // relative to the folder, with '/'
  std::string link_target;  // of a symbolic link, as it is written; else empty
  int64_t n_bytes = 0;      // of a regular file itself; of a link, of the file that it leads to
  bool is_link = false;
};
// All of them, sorted by path; at most `limit` entries, and none when the folder cannot be read.
// Links are not followed.
std::vector<TreeEntry> files_below(const std::string& folder, size_t limit = 1'000'000);
// The same where nothing may be overlooked. No folder: no entries. Fails: invalid (a part of it
// cannot be read), unsupported (too many).
Result<std::vector<TreeEntry>> all_files_below(const std::string& folder);
// Names of the folders in a folder, sorted; links to folders do not count.
std::vector<std::string> folders_in(const std::string& folder);

// Makes `path` a symbolic link with this text, in the place of what file or link is there. Fails:
// invalid, internal.
Status make_link(const std::string& target, const std::string& path);
// Replaces what file has the new name. Fails: not_found, invalid, internal.
Status rename_file(const std::string& from, const std::string& to);
// The folder with all that is in it, if it is there; links are removed, not followed. Fails:
// invalid.
Status remove_tree(const std::string& folder);

// False: it is still there, mostly because it is not empty.
bool remove_empty_folder(const std::string& folder);

// Differs after each start of the machine; empty: the system does not say.
std::string machine_start_id();

}  // namespace ruv
