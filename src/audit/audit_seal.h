// Sealed contents: a log whose prompts and answers its own server cannot read. They are encrypted
// to the open half of a pair of keys (libsodium's sealed boxes: X25519, XSalsa20, Poly1305); the
// secret half opens them, and is kept elsewhere. A copy of the log has digests and sizes.
#pragma once

#include "audit/audit_entry.h"

namespace ruv {

// The open half.
class AuditSeal {
 public:
  // Reads the file. Fails: invalid (no open half, or the secret one), as files.
  static Result<AuditSeal> read(const std::string& path);
  // 48 bytes longer than bytes_of_contents, and never the same twice. It costs the log's thread one
  // or two products of curve points, some 0.1 ms.
  std::string close(const EntryContents& contents) const;

 private:
  friend class AuditSealKey;
  std::array<std::byte, 32> open_ = {};
};

// Both halves.
class AuditSealKey {
 public:
  // Draws a pair and writes it for its owner alone, and its open half to `path`.pub. Fails: exists
  // already, internal (libsodium cannot be used), as files.
  static Result<AuditSealKey> draw(const std::string& path);
  // Fails: not_found, invalid.
  static Result<AuditSealKey> read(const std::string& path);
  AuditSealKey(AuditSealKey&&) noexcept = default;
  AuditSealKey& operator=(AuditSealKey&&) = delete;
  ~AuditSealKey();

  // Fails: invalid (sealed for another key, or changed), corrupt (the bytes do not divide into
  // contents).
  Result<EntryContents> open(std::string_view sealed) const;

 private:
  AuditSealKey() = default;
  std::array<std::byte, 32> open_ = {}, secret_ = {};
};

// What a body says of its sealed contents, so that others cannot be put in their place.
Digest sealed_digest(std::string_view sealed);

// Contents as bytes: the salt, then prompt and answer after their lengths in 8 bytes, then the
// text. Fails: corrupt.
std::string bytes_of_contents(const EntryContents& contents);
Result<EntryContents> contents_of_bytes(std::string_view bytes);

}  // namespace ruv
