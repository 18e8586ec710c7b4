// The name Json without the cost of its definition.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace ruv {
using Json = nlohmann::ordered_json;
}
