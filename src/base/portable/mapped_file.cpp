// A system whose files this library cannot read yet: each call says so.
#include "base/file.h"

namespace ruv {
namespace {

tl::unexpected<Status> no_reading(const std::string& path) {
  return fail(Code::unsupported, "{}: this build cannot read files on this system", path);
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) { return no_reading(path); }
MappedFile::~MappedFile() = default;
bool MappedFile::is_damaged() const { return false; }
void MappedFile::drop_pages() const {}
void MappedFile::expect_full_read() const {}
void MappedFile::expect_parts() const {}
void MappedFile::expect_read(Bytes) {}
bool MappedFile::is_in_memory(Bytes) { return true; }
void MappedFile::forget(Bytes) const {}

bool file_exists(const std::string&) { return false; }
bool is_directory(const std::string&) { return false; }
Result<FileStamp> stamp_of(const std::string& path) { return no_reading(path); }
Result<FileId> id_of(const std::string& path) { return no_reading(path); }

}  // namespace ruv
