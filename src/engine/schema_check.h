// Whether texts from outside are JSON of a schema, as arguments of tools have to be. What holds
// answers to schemas reads them (ruv/form.h), so that both agree on every keyword.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ruv/engine.h"

namespace ruv {

// Fails: invalid, in words that help the writer of the text, with the place after which no JSON of
// the schema is left. Requires: the text is JSON. Any thread; may outlive the engine.
using SchemaCheck = std::function<Status(std::string_view json)>;

// Fails: as Engine::load_form.
Result<SchemaCheck> schema_check(Engine& engine, const std::string& schema);

// The same JSON without whitespace between its parts, and with numbers as forms know them: no
// exponent up to some hundred digits, no zeros at the end of fractions, 1.0 as 1. Texts are
// unchanged. Linear in what it returns. Requires: the text is JSON.
std::string plain_json(std::string_view json);

}  // namespace ruv
