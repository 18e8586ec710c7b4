#include "base/buffer.h"

#include <sys/mman.h>

namespace ruv {

// Anonymous memory, with a request for huge pages.
Result<Buffer> Buffer::allocate(int64_t n_bytes) {
  Buffer buffer;
  if (n_bytes == 0) return buffer;
  void* const start = n_bytes < 0
                          ? MAP_FAILED
                          : ::mmap(nullptr, static_cast<size_t>(n_bytes), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    return fail(Code::out_of_memory, "the system gives no block of {} bytes", n_bytes);
  }
  ::madvise(start, static_cast<size_t>(n_bytes), MADV_HUGEPAGE);  // advice: failure changes nothing
  buffer.start_ = static_cast<std::byte*>(start);
  buffer.size_ = n_bytes;
  return buffer;
}

Buffer::~Buffer() {
  if (start_ != nullptr) ::munmap(start_, static_cast<size_t>(size_));
}

}  // namespace ruv
