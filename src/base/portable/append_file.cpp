// A system without the file operations that a store needs to survive a crash: each call says so.
#include "base/append_file.h"

namespace ruv {
namespace {

tl::unexpected<Status> no_appending(const std::string& path) {
  return fail(Code::unsupported, "{}: this build keeps no stores on this system", path);
}

}  // namespace

Result<AppendFile> AppendFile::create(const std::string& path) { return no_appending(path); }
Result<AppendFile> AppendFile::open(const std::string& path) { return no_appending(path); }
AppendFile::~AppendFile() = default;
Status AppendFile::append(std::initializer_list<Bytes>) { return no_appending(path_); }
Status AppendFile::cut(uint64_t) { return no_appending(path_); }
Status AppendFile::sync() { return no_appending(path_); }
void AppendFile::touch() const {}
void AppendFile::expect_read(uint64_t, uint64_t) const {}
Status AppendFile::read(uint64_t, std::span<std::byte>, std::span<std::byte>) const {
  return no_appending(path_);
}

Result<FileLock> FileLock::take(const std::string& path) { return no_appending(path); }
FileLock::~FileLock() = default;

Status sync_folder(const std::string& folder) { return no_appending(folder); }

}  // namespace ruv
