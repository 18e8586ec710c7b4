// The files: "ruvllm audit seal 1" or "ruvllm audit seal key 1", a line break, the open half, or
// the secret half, in 64 hexadecimal digits, a line break.
#include "audit/audit_seal.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"

namespace ruv {
namespace {

constexpr std::string_view kOpenHead = "ruvllm audit seal 1\n";
constexpr std::string_view kSecretHead = "ruvllm audit seal key 1\n";
constexpr size_t kLengthBytes = sizeof(uint64_t);

unsigned char* chars(std::array<std::byte, 32>& bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}
const unsigned char* chars(const std::array<std::byte, 32>& bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
const unsigned char* chars(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

static_assert(crypto_box_PUBLICKEYBYTES == 32 && crypto_box_SECRETKEYBYTES == 32);

// Reads the file of one half, whose first line says which it is.
Status read_half(const std::string& path, std::string_view head, std::array<std::byte, 32>& half) {
  TRY(prepare_sodium());
  const std::string text = TRY(read_text_file(path));
  if (!text.starts_with(head) || text.size() != head.size() + 65 || text.back() != '\n')
    return fail(Code::invalid, "{}: not a file that begins with '{}'", path,
                head.substr(0, head.size() - 1));
  return bytes_from_hex(std::string_view(text).substr(head.size(), 64), half, path);
}

Status write_half(const std::string& path, std::string_view head,
                  const std::array<std::byte, 32>& half, FileReaders readers) {
  FileWriter file = TRY(FileWriter::create(path, {.readers = readers}));
  TRY(file.write(as_bytes(head)));
  TRY(file.write(as_bytes(hex_of(half))));
  TRY(file.write(as_bytes("\n")));
  return file.commit();
}

// Lengths come first, so that the parts cannot be cut in another way.
void append_part(std::string& bytes, std::string_view part) {
  bytes += as_text(number_bytes(part.size()));
  bytes += part;
}

// Takes a length and as many bytes from the front. Fails: corrupt.
Result<std::string_view> take_part(std::string_view& bytes) {
  uint64_t length = 0;
  if (bytes.size() >= kLengthBytes) {
    std::memcpy(&length, bytes.data(), kLengthBytes);
    bytes.remove_prefix(kLengthBytes);
    if (length <= bytes.size()) {
      const std::string_view part = bytes.substr(0, length);
      bytes.remove_prefix(length);
      return part;
    }
  }
  return fail(Code::corrupt, "sealed contents: they end too early");
}

}  // namespace

Result<AuditSeal> AuditSeal::read(const std::string& path) {
  AuditSeal seal;
  const auto text = read_text_file(path);
  if (text && text->starts_with(kSecretHead))
    return fail(Code::invalid,
                "{}: this is the secret half, which is for reading; a server takes {}.pub, and "
                "should not be able to read the other",
                path, path);
  TRY(read_half(path, kOpenHead, seal.open_));
  // A point of low order is not a key: anyone could read what is sealed with it.
  if (seal.close({}).empty()) return fail(Code::invalid, "{}: no key", path);
  return seal;
}

// What was sealed does not stay in memory that is freed; the contents themselves are the caller's.
std::string AuditSeal::close(const EntryContents& contents) const {
  std::string bytes = bytes_of_contents(contents);
  std::string sealed(bytes.size() + crypto_box_SEALBYTES, '\0');
  const int failed = crypto_box_seal(reinterpret_cast<unsigned char*>(sealed.data()), chars(bytes),
                                     bytes.size(), chars(open_));
  sodium_memzero(bytes.data(), bytes.size());
  return failed == 0 ? sealed : std::string();
}

AuditSealKey::~AuditSealKey() { sodium_memzero(secret_.data(), secret_.size()); }

Result<AuditSealKey> AuditSealKey::draw(const std::string& path) {
  TRY(prepare_sodium());
  for (const std::string& file : {path, path + ".pub"})
    if (file_exists(file)) return fail(Code::invalid, "{}: exists already", file);
  AuditSealKey key;
  crypto_box_keypair(chars(key.open_), chars(key.secret_));
  TRY(write_half(path, kSecretHead, key.secret_, FileReaders::owner));
  TRY(write_half(path + ".pub", kOpenHead, key.open_, FileReaders::everyone));
  return key;
}

Result<AuditSealKey> AuditSealKey::read(const std::string& path) {
  AuditSealKey key;
  TRY(read_half(path, kSecretHead, key.secret_));
  if (crypto_scalarmult_base(chars(key.open_), chars(key.secret_)) != 0)
    return fail(Code::invalid, "{}: no key", path);
  return key;
}

Result<EntryContents> AuditSealKey::open(std::string_view sealed) const {
  if (sealed.size() < crypto_box_SEALBYTES)
    return fail(Code::corrupt, "sealed contents: {} bytes are too few", sealed.size());
  std::string bytes(sealed.size() - crypto_box_SEALBYTES, '\0');
  if (crypto_box_seal_open(reinterpret_cast<unsigned char*>(bytes.data()), chars(sealed),
                           sealed.size(), chars(open_), chars(secret_)) != 0)
    return fail(Code::invalid, "sealed contents: this key does not open them");
  return contents_of_bytes(bytes);
}

Digest sealed_digest(std::string_view sealed) {
  return digest_of("ruvllm audit sealed", {as_bytes(sealed)});
}

std::string bytes_of_contents(const EntryContents& contents) {
  std::string bytes(as_text(contents.salt));
  append_part(bytes, contents.prompt);
  append_part(bytes, contents.answer);
  bytes += contents.text;
  return bytes;
}

Result<EntryContents> contents_of_bytes(std::string_view bytes) {
  EntryContents contents;
  if (bytes.size() < contents.salt.size())
    return fail(Code::corrupt, "sealed contents: they end too early");
  std::memcpy(contents.salt.data(), bytes.data(), contents.salt.size());
  bytes.remove_prefix(contents.salt.size());
  contents.prompt = TRY(take_part(bytes));
  contents.answer = TRY(take_part(bytes));
  contents.text = bytes;
  return contents;
}

}  // namespace ruv
