// Token: the id of a piece of text in a model's vocabulary.
#pragma once

#include <cstdint>

namespace ruv {
using Token = int32_t;
}
