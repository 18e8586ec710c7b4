// The levels of ik_llama.cpp's formats: two sets for each number of bits, the second moved a little
// against the first. A bit of each sub-block says which set its numbers use.
#pragma once

#include <cstdint>

namespace ruv {

extern const int8_t kLevelsIk2[8];    // two sets of 4
extern const int8_t kLevelsIk3[16];   // two sets of 8
extern const int8_t kLevelsIk4[32];   // two sets of 16; the first is that of IQ4_NL
extern const int8_t kLevelsIk5[64];   // two sets of 32
extern const int8_t kPairsIk2Kl[64];  // 32 pairs of levels for two numbers together

}  // namespace ruv
