// libsodium's functions on spans. Text and ciphertext share memory, so that sealing a page copies
// nothing; a key is never in a message.
#include "base/sealing.h"

#include <sodium.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"

namespace ruv {
namespace {

static_assert(sizeof(SealKey) == crypto_kdf_KEYBYTES);
static_assert(sizeof(SealKey) == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
static_assert(kSealNonceBytes == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES);
static_assert(kSealTagBytes == crypto_aead_xchacha20poly1305_ietf_ABYTES);

unsigned char* raw(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}
const unsigned char* raw(Bytes bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

Status start_sealing() {
  if (sodium_init() < 0) return fail(Code::internal, "libsodium does not start");
  return {};
}

SealKeys::SealKeys(const std::optional<SealKey>& key, std::string_view context)
    : sealed_(key.has_value()) {
  CHECK(context.size() == crypto_kdf_CONTEXTBYTES);
  if (!key) return;
  for (size_t i = 0; i < kPurposes; ++i) {
    crypto_kdf_derive_from_key(keys_[i].data(), keys_[i].size(), i + 1, context.data(),
                               key->data());
  }
}

SealKeys::~SealKeys() {
  for (SealKey& key : keys_) forget_key(key);
}

std::string_view SealKeys::refusal() const {
  return sealed_ ? "not encrypted, and a key is given" : "encrypted, and no key is given";
}

void fill_random(std::span<std::byte> bytes) { randombytes_buf(bytes.data(), bytes.size()); }

void seal(const Sealing& with, std::span<std::byte> text, std::span<std::byte> tag) {
  CHECK(with.nonce.size() == kSealNonceBytes && tag.size() == kSealTagBytes);
  crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
      raw(text), raw(tag), nullptr, raw(Bytes(text)), text.size(), raw(with.bound),
      with.bound.size(), nullptr, raw(with.nonce), with.key.data());
}

bool unseal(const Sealing& with, std::span<std::byte> text, Bytes tag) {
  CHECK(with.nonce.size() == kSealNonceBytes && tag.size() == kSealTagBytes);
  return crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
             raw(text), nullptr, raw(Bytes(text)), text.size(), raw(tag), raw(with.bound),
             with.bound.size(), raw(with.nonce), with.key.data()) == 0;
}

// The room grows once, and the text is sealed where it will stay.
void append_sealed(std::string& to, const SealKey& key, Bytes text, Bytes bound) {
  const size_t start = to.size();
  to.resize(start + kSealedExtraBytes + text.size());
  const std::span<std::byte> all = std::as_writable_bytes(std::span(to)).subspan(start);
  const auto nonce = all.first(kSealNonceBytes);
  const auto sealed = all.subspan(kSealNonceBytes, text.size());
  fill_random(nonce);
  std::ranges::copy(text, sealed.begin());
  seal({key, nonce, bound}, sealed, all.last(kSealTagBytes));
}

// What does not open is in `text` as it was sealed, or zeros; callers do not look at it.
bool open_sealed(const SealKey& key, Bytes sealed, Bytes bound, std::span<std::byte> text) {
  CHECK(sealed.size() == text.size() + kSealedExtraBytes);
  std::ranges::copy(sealed.subspan(kSealNonceBytes, text.size()), text.begin());
  return unseal({key, sealed.first(kSealNonceBytes), bound}, text, sealed.last(kSealTagBytes));
}

void forget_key(SealKey& key) { sodium_memzero(key.data(), key.size()); }

// Digits are checked first, so that from_chars cannot fail.
Result<SealKey> seal_key_of_hex(std::string_view text, std::string_view source) {
  const auto digits = text.substr(0, text.find_last_not_of(" \r\n") + 1);
  SealKey key = {};
  if (digits.size() == 2 * key.size() &&
      digits.find_first_not_of("0123456789abcdefABCDEF") == digits.npos) {
    for (size_t i = 0; i < key.size(); ++i) {
      std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, key[i], 16);
    }
    return key;
  }
  return fail(Code::invalid, "{}: {} hexadecimal digits are needed", source, 2 * key.size());
}

// Eight bytes of hash and eight of zeros, so that plain and sealed files have one layout.
void put_plain_tag(std::span<std::byte> tag, uint64_t hash) {
  CHECK(tag.size() == kSealTagBytes);
  put(tag, 0, hash);
  put(tag, sizeof hash, uint64_t{0});
}

bool is_plain_tag(Bytes tag, uint64_t hash) {
  CHECK(tag.size() == kSealTagBytes);
  return get<uint64_t>(tag, 0) == hash && get<uint64_t>(tag, sizeof hash) == 0;
}

std::array<std::byte, 16> keyed_hash(const SealKey& key, std::string_view text) {
  std::array<std::byte, 16> hash;
  static_assert(sizeof hash >= crypto_generichash_BYTES_MIN);
  crypto_generichash(raw(std::span<std::byte>(hash)), hash.size(), raw(as_bytes(text)), text.size(),
                     key.data(), key.size());
  return hash;
}

}  // namespace ruv
