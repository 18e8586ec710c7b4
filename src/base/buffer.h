// Buffer: a large zeroed block of memory on 64-byte boundaries, with huge pages where the system
// offers them. A failed allocation is a Status, so budgets can be tested. Move-only; the memory is
// returned on destruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"

namespace ruv {

class Buffer {
 public:
  Buffer() = default;
  // Zeroed memory, committed when first touched. Fails: out_of_memory, naming the size.
  static Result<Buffer> allocate(int64_t n_bytes);
  // Leaves the other one empty.
  Buffer(Buffer&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer();

  // Null for an empty buffer.
  std::byte* get() const { return start_; }
  int64_t n_bytes() const { return size_; }
  // The memory as an array of T. Requires: T is a plain type; the caller knows the size.
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(start_);
  }

 private:
  std::byte* start_ = nullptr;
  int64_t size_ = 0;
};

// Read-only bytes together with whatever keeps them alive: a Buffer of their own, or a mapped file
// shared with others. Copies share the memory.
class SharedBytes {
 public:
  SharedBytes() = default;
  // Takes the buffer over.
  explicit SharedBytes(Buffer buffer);
  // `owner` keeps `bytes` alive.
  SharedBytes(Bytes bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}

  const std::byte* get() const { return bytes_.data(); }
  int64_t n_bytes() const { return static_cast<int64_t>(bytes_.size()); }
  Bytes bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace ruv
