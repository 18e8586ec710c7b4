// Numbers that a stranger cannot guess.
#pragma once

#include <cstdint>

namespace ruv {

// 64 bits from the system. Not for keys that encrypt: a system without random numbers gives what is
// merely hard to know.
uint64_t draw_entropy();

}  // namespace ruv
