// Encryption of files: texts are sealed, so that only the owner of the key can read or change them
// (XChaCha20-Poly1305), or plain, some with a hash in the tag's place that detects damage.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace ruv {

inline constexpr size_t kSealNonceBytes = 24;
inline constexpr size_t kSealTagBytes = 16;

using SealKey = std::array<uint8_t, 32>;

struct Sealing {
  const SealKey& key;
  Bytes nonce;  // kSealNonceBytes, random, never twice with one key
  Bytes bound;  // authenticated beside the text
};

// Call once before the other functions, from any thread. Fails: internal (the encryption library
// does not start).
Status start_sealing();

// The keys of one kind of file, derived from one key, one for each purpose; zeros when nothing is
// sealed. The memory is overwritten on destruction.
class SealKeys {
 public:
  static constexpr size_t kPurposes = 4;

  // `context` has 8 characters and names the kind of file.
  SealKeys(const std::optional<SealKey>& key, std::string_view context);
  SealKeys(const SealKeys&) = default;
  SealKeys& operator=(const SealKeys&) = delete;
  ~SealKeys();

  bool sealed() const { return sealed_; }
  // Requires: purpose < kPurposes.
  const SealKey& operator[](size_t purpose) const { return keys_[purpose]; }
  // The message for a file that is sealed although ours are not, or the other way round.
  std::string_view refusal() const;

 private:
  bool sealed_;
  std::array<SealKey, kPurposes> keys_ = {};
};

void fill_random(std::span<std::byte> bytes);

// Encrypts in place; writes kSealTagBytes to `tag`.
void seal(const Sealing& with, std::span<std::byte> text, std::span<std::byte> tag);
// Decrypts in place. False when anything differs from what was sealed; the text is then zeroed or
// unchanged.
bool unseal(const Sealing& with, std::span<std::byte> text, Bytes tag);

// A sealed text that brings its nonce and tag along: {nonce, what was sealed, tag}.
inline constexpr size_t kSealedExtraBytes = kSealNonceBytes + kSealTagBytes;

// Appends the sealed form of `text`, with a nonce drawn for it, to `to`. Requires: start_sealing()
// was ok.
void append_sealed(std::string& to, const SealKey& key, Bytes text, Bytes bound);
// Opens such a text into `text`, which has kSealedExtraBytes less. False: as unseal().
bool open_sealed(const SealKey& key, Bytes sealed, Bytes bound, std::span<std::byte> text);

// Overwrites a key in a way that compilers do not remove.
void forget_key(SealKey& key);
// A key from 64 hexadecimal digits; blanks and line breaks after them are allowed. Fails: invalid,
// by `source`; what was read instead is not shown.
Result<SealKey> seal_key_of_hex(std::string_view text, std::string_view source);

// The tag of a plain file: a hash, then zeros.
void put_plain_tag(std::span<std::byte> tag, uint64_t hash);
bool is_plain_tag(Bytes tag, uint64_t hash);

// Numbers at fixed offsets of a file, little-endian. Requires: they lie within.
template <class T>
void put(std::span<std::byte> to, size_t offset, const T& value) {
  std::memcpy(to.data() + offset, &value, sizeof value);
}
template <class T>
T get(Bytes from, size_t offset) {
  T value;
  std::memcpy(&value, from.data() + offset, sizeof value);
  return value;
}

// BLAKE2b with 16 bytes: finding two texts with one hash is infeasible, and so is guessing a hash
// without the key.
std::array<std::byte, 16> keyed_hash(const SealKey& key, std::string_view text);

}  // namespace ruv
