// The configuration file: TOML of tables, keys, and values that are texts, numbers, true, false or
// lists of these. What else TOML has (dotted keys, dates, tables in tables) is refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ruv {

struct ConfigEntry {
  std::string table;  // "serve"; empty: at the top
  std::string key;
  std::vector<std::string> values;  // one, or those of a list
  int64_t line = 0;
};

// Fails: invalid, with the line: "line 3: …".
Result<std::vector<ConfigEntry>> parse_config(std::string_view text);

}  // namespace ruv
