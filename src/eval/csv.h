// Comma-separated values (RFC 4180): fields may be in quotes, and then have commas, line ends and
// doubled quotes in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ruv {

struct CsvRow {
  int64_t line = 0;  // in which it begins, counted from 1
  std::vector<std::string> fields;
};

// At most `limit` rows (0: all); empty lines are none. In one pass. Fails: corrupt, with the file's
// name and the line (a quote that does not end, characters between a quote and the next comma).
Result<std::vector<CsvRow>> read_csv(std::string_view content, std::string_view source,
                                     int64_t limit = 0);

}  // namespace ruv
