#include "base/buffer.h"

#include <windows.h>

namespace ruv {

Result<Buffer> Buffer::allocate(int64_t n_bytes) {
  Buffer buffer;
  if (n_bytes == 0) return buffer;
  void* const start = n_bytes < 0 ? nullptr
                                  : ::VirtualAlloc(nullptr, static_cast<size_t>(n_bytes),
                                                   MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (start == nullptr) {
    return fail(Code::out_of_memory, "the system gives no block of {} bytes", n_bytes);
  }
  buffer.start_ = static_cast<std::byte*>(start);
  buffer.size_ = n_bytes;
  return buffer;
}

Buffer::~Buffer() {
  if (start_ != nullptr) ::VirtualFree(start_, 0, MEM_RELEASE);
}

}  // namespace ruv
