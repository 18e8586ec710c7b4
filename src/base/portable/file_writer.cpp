// A system where this library cannot replace a file as a whole yet: create() says so, and the rest
// is never called.
#include "base/file.h"

namespace ruv {
namespace {

tl::unexpected<Status> no_writing(const std::string& path) {
  return fail(Code::unsupported, "{}: this build cannot write files on this system", path);
}

}  // namespace

Result<FileWriter> FileWriter::create(const std::string& path, FileTarget) {
  return no_writing(path);
}
FileWriter::~FileWriter() = default;
void FileWriter::discard() {}
void FileWriter::skip(uint64_t) {}
Status FileWriter::write(Bytes) { return no_writing(path_); }
Status FileWriter::commit() { return no_writing(path_); }

Result<SharedFileWriter> SharedFileWriter::create(const std::string& path, uint64_t) {
  return no_writing(path);
}
SharedFileWriter::~SharedFileWriter() = default;
Status SharedFileWriter::write_at(uint64_t, Bytes) { return no_writing(path_); }
Status SharedFileWriter::commit() { return no_writing(path_); }

}  // namespace ruv
