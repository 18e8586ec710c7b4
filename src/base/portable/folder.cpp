// A system without folders, or where this library cannot use them yet.
#include "base/folder.h"

namespace ruv {
namespace {

tl::unexpected<Status> no_folders(const std::string& path) {
  return fail(Code::unsupported, "{}: this build cannot use folders on this system", path);
}

}  // namespace

Status make_folder(const std::string& path) { return no_folders(path); }
Status make_shared_folder(const std::string& path) { return no_folders(path); }
std::vector<FolderEntry> files_in(const std::string&) { return {}; }
Result<DiskRoom> disk_room(const std::string& folder) { return no_folders(folder); }
void touch_file(const std::string&) {}
bool remove_file(const std::string&) { return false; }

}  // namespace ruv
