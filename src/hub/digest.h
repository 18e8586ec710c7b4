// Digests of files: SHA-256 as LFS and registries use it, and the SHA-1 that git gives a blob.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace ruv {

enum class DigestKind : uint8_t {
  sha256,
  git_blob,  // SHA-1 of "blob <size>", a zero byte and the bytes
};

// What a file must hash to.
struct FileDigest {
  DigestKind kind = DigestKind::sha256;
  std::string hex = {};  // lower case
  bool operator==(const FileDigest&) const = default;
};
// 64 hexadecimal digits are SHA-256, 40 a git blob; letters of any case. Fails: corrupt.
Result<FileDigest> read_digest(std::string_view hex);

// Takes a file's bytes from front to back.
class DigestStream {
 public:
  // Fails: out_of_memory, unsupported (the system's libcrypto refuses this digest).
  static Result<DigestStream> start(DigestKind kind, uint64_t n_bytes);
  DigestStream(DigestStream&&) noexcept;
  ~DigestStream();

  void add(Bytes bytes);
  // In lower case. Requires: nothing is added afterwards.
  std::string finish();

 private:
  struct Context;
  explicit DigestStream(std::unique_ptr<Context> context);
  std::unique_ptr<Context> context_;
};

// A whole file, read in pieces. Fails: as PatchFile::open, internal.
Result<std::string> digest_of_file(const std::string& path, DigestKind kind);

}  // namespace ruv
