// Dates for strftime_now: UTC, English names, C's letters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv::jinja {

// strftime of a moment in UTC. Knows a A b B c d D e F H I j m M p S T u U w W x X y Y Z z %, and
// a "-" before a number for no padding. An unknown letter stays as it is.
Result<std::string> clock_text(std::string_view format, int64_t unix_s);

}  // namespace ruv::jinja
