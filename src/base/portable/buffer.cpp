#include "base/buffer.h"

#include <cstring>
#include <limits>
#include <new>

namespace ruv {
namespace {

constexpr auto kLineBytes = std::align_val_t{64};

}  // namespace

// Committed and zeroed at once: plain C++ knows no memory that is given when it is touched.
Result<Buffer> Buffer::allocate(int64_t n_bytes) {
  Buffer buffer;
  if (n_bytes == 0) return buffer;
  const bool possible = n_bytes > 0 && n_bytes <= std::numeric_limits<ptrdiff_t>::max();
  const auto size = static_cast<size_t>(n_bytes);
  void* const start = possible ? ::operator new(size, kLineBytes, std::nothrow) : nullptr;
  if (start == nullptr) {
    return fail(Code::out_of_memory, "the system gives no block of {} bytes", n_bytes);
  }
  std::memset(start, 0, size);
  buffer.start_ = static_cast<std::byte*>(start);
  buffer.size_ = n_bytes;
  return buffer;
}

Buffer::~Buffer() {
  if (start_ != nullptr) ::operator delete(start_, kLineBytes);
}

}  // namespace ruv
