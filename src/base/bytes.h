// ByteReader: the only way bytes from outside become numbers. Every read is checked against what
// remains before anything is touched or allocated; errors name the source and the offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv {

using Bytes = std::span<const std::byte>;

// The same memory as bytes, or as text; nothing is copied.
inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// a·b, or nothing when it does not fit 64 bits.
// Use these for every size computed from a file's numbers.
inline std::optional<uint64_t> checked_multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Little-endian reader over a span it does not own. `source` (a file name) is quoted in errors.
class ByteReader {
 public:
  ByteReader(Bytes bytes, std::string source) : bytes_(bytes), source_(std::move(source)) {}

  // Bytes read so far, and bytes left.
  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }
  const std::string& source() const { return source_; }

  // The next sizeof(T) bytes as a number. Fails: corrupt when fewer remain. `field` names the
  // number in the error.
  template <class T>
  Result<T> read(std::string_view field) {
    static_assert(std::is_trivially_copyable_v<T>);
    const Bytes taken = TRY(take(sizeof(T), field));
    T value;
    std::memcpy(&value, taken.data(), sizeof(T));
    return value;
  }

  // The next n bytes, not copied. Fails: corrupt when fewer remain.
  Result<Bytes> take(uint64_t n, std::string_view field);
  // Moves forward to the next multiple of `alignment` (a power of two or any positive number).
  Status align(uint64_t alignment, std::string_view field);
  // An error at the current offset: "<source>: offset <n>: <field>: <what>".
  tl::unexpected<Status> error(std::string_view field, std::string_view what,
                               Code code = Code::corrupt) const;

 private:
  Bytes bytes_;
  std::string source_;
  uint64_t offset_ = 0;
};

}  // namespace ruv
