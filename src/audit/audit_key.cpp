// The file: "ruvllm audit key 1", a line break, 128 hexadecimal digits, a line break.
#include "audit/audit_key.h"

#include <sodium.h>

#include <algorithm>

#include "base/file.h"

namespace ruv {
namespace {

constexpr std::string_view kHead = "ruvllm audit key 1\n";

struct KeyPair {
  std::array<unsigned char, crypto_sign_PUBLICKEYBYTES> open;
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret;
  ~KeyPair() { sodium_memzero(secret.data(), secret.size()); }
};

// The pair is made anew for each signature, which a batch has one of, so that the expanded secret
// is not in memory in between.
KeyPair pair_of(const std::array<std::byte, 64>& secrets) {
  static_assert(crypto_sign_SEEDBYTES == 32);
  KeyPair pair;
  crypto_sign_seed_keypair(pair.open.data(), pair.secret.data(),
                           reinterpret_cast<const unsigned char*>(secrets.data()));
  return pair;
}

}  // namespace

Status prepare_sodium() {
  if (sodium_init() >= 0) return {};
  return fail(Code::internal, "libsodium cannot be used on this system");
}

bool is_signed(const Digest& digest, const Signature& signature, const PublicKey& key) {
  return crypto_sign_verify_detached(reinterpret_cast<const unsigned char*>(signature.data()),
                                     reinterpret_cast<const unsigned char*>(digest.data()),
                                     digest.size(),
                                     reinterpret_cast<const unsigned char*>(key.data())) == 0;
}

AuditKey::~AuditKey() { sodium_memzero(secrets_.data(), secrets_.size()); }

Result<AuditKey> AuditKey::draw() {
  TRY(prepare_sodium());
  AuditKey key;
  randombytes_buf(key.secrets_.data(), key.secrets_.size());
  return key;
}

Result<AuditKey> AuditKey::read(const std::string& path) {
  TRY(prepare_sodium());
  const std::string text = TRY(read_text_file(path));
  AuditKey key;
  const size_t n_digits = key.secrets_.size() * 2;
  if (!text.starts_with(kHead) || text.size() != kHead.size() + n_digits + 1 || text.back() != '\n')
    return fail(Code::invalid, "{}: not a key of an audit log", path);
  TRY(bytes_from_hex(std::string_view(text).substr(kHead.size(), n_digits), key.secrets_, path));
  return key;
}

Result<AuditKey> AuditKey::open(const std::string& path) {
  if (file_exists(path)) return read(path);
  AuditKey key = TRY(draw());
  FileWriter file = TRY(FileWriter::create(path, {.readers = FileReaders::owner}));
  TRY(file.write(as_bytes(kHead)));
  TRY(file.write(as_bytes(hex_of(key.secrets_))));
  TRY(file.write(as_bytes("\n")));
  TRY(file.commit());
  return key;
}

PublicKey AuditKey::public_key() const {
  const KeyPair pair = pair_of(secrets_);
  PublicKey key;
  std::ranges::copy(std::as_bytes(std::span(pair.open)), key.begin());
  return key;
}

Signature AuditKey::sign(const Digest& digest) const {
  const KeyPair pair = pair_of(secrets_);
  Signature signature;
  crypto_sign_detached(reinterpret_cast<unsigned char*>(signature.data()), nullptr,
                       reinterpret_cast<const unsigned char*>(digest.data()), digest.size(),
                       pair.secret.data());
  return signature;
}

// Salts are derived and not drawn, so that a log that keeps digests alone need not keep salts, and
// its owner can still show what a digest is of.
Salt AuditKey::salt_of(uint64_t entry) const {
  const Bytes secret = Bytes(secrets_).subspan(32);
  const Digest drawn = keyed_digest_of(secret, "ruvllm audit salt", {number_bytes(entry)});
  Salt salt;
  std::ranges::copy(Bytes(drawn).first(salt.size()), salt.begin());
  return salt;
}

}  // namespace ruv
