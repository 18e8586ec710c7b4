// Buffer: a large zeroed block of memory on 64-byte boundaries, with huge pages where the system
// gives them. Allocation failure is a Status, so budgets can be tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace ruv {

// Memory the machine has, in bytes.
int64_t machine_memory_bytes();

class Buffer {
 public:
  Buffer() = default;
  // Zeroed memory, committed when first touched. Fails: out_of_memory, naming the size.
  static Result<Buffer> allocate(int64_t n_bytes);
  Buffer(Buffer&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer();

  std::byte* get() const { return start_; }
  int64_t n_bytes() const { return size_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(start_);
  }

 private:
  std::byte* start_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace ruv
