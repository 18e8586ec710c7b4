// The fields of all bodies that the server takes, whichever API they belong to.
#pragma once

#include <span>

#include "net/openai/fields.h"

namespace ruv {

std::span<const BodyTable* const> body_tables();

}  // namespace ruv
