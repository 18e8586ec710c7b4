// Dates for strftime_now: UTC, English names, C's letters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv::jinja {

// What Python's datetime.strftime writes on Linux for a moment in UTC that knows no zone: every
// letter of C with its flags (- _ 0 ^ #), a width, and E or O; an unknown one stays as it is.
// Fails: invalid (the year is beyond 9999, a width above 1000).
Result<std::string> clock_text(std::string_view format, int64_t unix_s);

}  // namespace ruv::jinja
