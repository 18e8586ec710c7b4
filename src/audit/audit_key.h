// AuditKey: what an audit log is signed with, Ed25519, and the secret from which each entry's salt
// comes. Both are in one file, for its owner alone.
#pragma once

#include "audit/digest.h"

namespace ruv {

using PublicKey = std::array<std::byte, 32>;
using Signature = std::array<std::byte, 64>;
using Salt = std::array<std::byte, 16>;

// Whether `signature` was made for `digest` by the owner of the key.
bool is_signed(const Digest& digest, const Signature& signature, const PublicKey& key);

// May be called any number of times, from any thread. Fails: internal (libsodium cannot be used).
Status prepare_sodium();

class AuditKey {
 public:
  // Draws a key. Fails: internal (libsodium cannot be used).
  static Result<AuditKey> draw();
  // Reads the file, or draws a key and writes it there where there is none. Fails: invalid (no such
  // key), as files.
  static Result<AuditKey> open(const std::string& path);
  // Fails: not_found, invalid.
  static Result<AuditKey> read(const std::string& path);
  AuditKey(AuditKey&&) noexcept = default;
  AuditKey& operator=(AuditKey&&) = delete;
  ~AuditKey();

  PublicKey public_key() const;
  Signature sign(const Digest& digest) const;
  // What an entry's contents are hashed with: its digest tells nothing to those that do not have
  // the salt, and an entry's salt tells nothing of another's.
  Salt salt_of(uint64_t entry) const;

 private:
  AuditKey() = default;
  // The seed of the key pair, then the secret of the salts.
  std::array<std::byte, 64> secrets_ = {};
};

}  // namespace ruv
