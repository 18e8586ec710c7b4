#include "base/bytes.h"

namespace ruv {

// The one place where the bounds are checked.
Result<Bytes> ByteReader::take(uint64_t n, std::string_view field) {
  if (n > remaining()) {
    return error(field, fmt::format("needs {} bytes, {} remain (truncated file or hostile length)",
                                    n, remaining()));
  }
  const Bytes taken = bytes_.subspan(offset_, n);
  offset_ += n;
  return taken;
}

Status ByteReader::align(uint64_t alignment, std::string_view field) {
  const uint64_t past = alignment == 0 ? 0 : offset_ % alignment;
  if (past == 0) return {};
  TRY(take(alignment - past, field));
  return {};
}

tl::unexpected<Status> ByteReader::error(std::string_view field, std::string_view what,
                                         Code code) const {
  return fail(code, "{}: offset {}: {}: {}", source_, offset_, field, what);
}

}  // namespace ruv
