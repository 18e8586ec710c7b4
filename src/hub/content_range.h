// The "Content-Range" of an answer, which must be what was asked for.
#pragma once

#include <string_view>

#include "base/result.h"
#include "hub/byte_ranges.h"

namespace ruv {

// Whether "bytes 0-99/1234" begins where `range` does, does not end after it, and is of a file of
// n_bytes; a '*' for the size is not accepted. Fails: corrupt.
Status check_content_range(std::string_view header, ByteRange range, uint64_t n_bytes);

}  // namespace ruv
