// Sealing: texts on disk that only the key's owner can read or change, by XChaCha20-Poly1305.
#pragma once

#include <array>
#include <cstdint>
#include <span>
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

// Once before all others, from any thread. Fails: internal (the encryption library does not start).
Status start_sealing();
// Another key for each number, from one key. `context` has 8 characters and names the purpose.
SealKey derived_key(const SealKey& key, std::string_view context, uint64_t number);
// Overwrites it in a way that compilers keep.
void wipe(SealKey& key);
void fill_random(std::span<std::byte> bytes);

// Encrypts in place; writes kSealTagBytes to `tag`.
void seal(const Sealing& with, std::span<std::byte> text, std::span<std::byte> tag);
// Decrypts in place. False, and the text is zeroed or as it was, when anything differs from what
// was sealed.
bool unseal(const Sealing& with, std::span<std::byte> text, Bytes tag);

// BLAKE2b of 16 bytes: nobody finds two texts with one hash, and nobody without the key guesses.
std::array<std::byte, 16> keyed_hash(const SealKey& key, std::string_view text);

}  // namespace ruv
