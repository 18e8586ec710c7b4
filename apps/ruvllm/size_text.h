// Numbers that options have as text.
#pragma once

#include <string>

#include "base/result.h"

namespace ruv {

// A number above 0. Fails: invalid, naming the flag.
Result<double> positive_number(const char* flag, const std::string& text);
// "4.5G", "900M", "123456": powers of ten. Fails: as positive_number.
Result<double> size_in_bytes(const char* flag, std::string text);

}  // namespace ruv
