// Digest: BLAKE2b of 256 bits, by libsodium. A caller that chooses the bytes still finds no two
// inputs with one digest, so a digest can be compared in place of its input.
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace ruv {

using Digest = std::array<std::byte, 32>;

// The digest of parts, one after the other. Each use has a `purpose` of its own, so that what was
// hashed for one cannot be shown as another. Parts of changing length must be the last or have
// their length before them: the borders between parts are not hashed.
Digest digest_of(std::string_view purpose, std::initializer_list<Bytes> parts);
// The same under a key: without it no reader can try inputs until one fits.
Digest keyed_digest_of(Bytes key, std::string_view purpose, std::initializer_list<Bytes> parts);

// The same for bytes that come in pieces.
class Blake2Stream {
 public:
  explicit Blake2Stream(std::string_view purpose);
  Blake2Stream(Blake2Stream&&) noexcept;
  ~Blake2Stream();
  void add(Bytes bytes);
  // Requires: called once, at the end.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// 64 lower-case hexadecimal digits, and back. Fails: invalid, naming `what`.
std::string hex_of(Bytes bytes);
Result<Digest> digest_from_hex(std::string_view text, std::string_view what);
// Fills `bytes`, of twice as many digits. Fails: invalid, naming `what`.
Status bytes_from_hex(std::string_view text, std::span<std::byte> bytes, std::string_view what);

// The bytes of a number, little-endian.
std::array<std::byte, 8> number_bytes(uint64_t number);

}  // namespace ruv
