// What is the same of files on every system; the rest is in posix/, windows/ and portable/.
#include "base/file.h"

#include <utility>

namespace ruv {

MappedFile::MappedFile(MappedFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      bytes_(std::exchange(other.bytes_, {})),
      path_(std::move(other.path_)),
      stamp_(other.stamp_),
      id_(other.id_),
      range_(std::exchange(other.range_, nullptr)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(bytes_, other.bytes_);
  std::swap(path_, other.path_);
  std::swap(stamp_, other.stamp_);
  std::swap(id_, other.id_);
  std::swap(range_, other.range_);
  return *this;
}

Status MappedFile::check_read() const {
  if (!is_damaged()) return {};
  return fail(Code::internal, "{}: was cut, or could not be read, while it was in use", path_);
}

std::string file_name_of(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

Result<std::string> read_text_file(const std::string& path) {
  const MappedFile file = TRY(MappedFile::open(path));
  std::string text(as_text(file.bytes()));
  TRY(file.check_read());
  return text;
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      offset_(other.offset_),
      n_kept_(other.n_kept_),
      path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      target_(std::move(other.target_)),
      log_(std::move(other.log_)) {}

SharedFileWriter::SharedFileWriter(SharedFileWriter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      mapping_(std::move(other.mapping_)) {}

}  // namespace ruv
