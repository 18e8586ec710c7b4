// What two files of a model lead to, compared.
#pragma once

#include <string_view>

#include "model/model.h"

namespace ruv {

// What differs ("numbers of the model", "rotary positions", "plan of a layer"); empty: nothing.
// Numbers of float32 may differ in their last bits, where configs are decimal text.
std::string_view first_difference(const Model& a, const Model& b);

}  // namespace ruv
