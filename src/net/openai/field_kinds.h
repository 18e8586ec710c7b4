// What JSON values the fields of request bodies take, for the document of the routes. The readers
// of the fields decide; tests compare both.
#pragma once

#include <string_view>

#include "base/json.h"
#include "net/openai/fields.h"

namespace ruv {

// A JSON Schema of the values that a field of the table may have besides null and its neutral ones;
// empty: nothing is said of them.
Json field_kind(const BodyTable& table, std::string_view name);

}  // namespace ruv
