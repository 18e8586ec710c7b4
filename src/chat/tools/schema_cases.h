// A schema as the cases of its values, for formats that are not JSON: each case has one type, and
// keywords that a grammar can say. What goes beyond that is refused by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "chat/tools/schema_types.h"

namespace ruv {

struct SchemaCase {
  // One type; all: anything is allowed.
  TypeSet types;
  // The schema of it. It may have keywords of other types, too.
  const Json* schema = nullptr;
  // The only values, where they are listed.
  std::optional<std::vector<Json>> values = {};
};

// Follows references, anyOf, oneOf of cases of different types, and allOf of one schema. `path`
// names the place in errors. Fails: unsupported (a keyword, too many cases), invalid (no schema).
Result<std::vector<SchemaCase>> schema_cases(SchemaPlace place, const std::string& path);

}  // namespace ruv
