// ISO 8601 times of the command line, to seconds since 1970.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv {

// "2025-03-14", "2025-03-14T15:09:26" (also with a space, without seconds, with a fraction, which
// is dropped), then nothing, "Z" or an offset "+01:00". Without offset it is UTC. Fails: invalid.
Result<int64_t> parse_iso_time(std::string_view text);
// "2025-03-14 15:09"; the seconds as they are unless they lie in the years 1970 to 9999.
std::string utc_text(int64_t unix_s);

}  // namespace ruv
