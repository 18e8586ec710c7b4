// Fast 64-bit hash of bytes, for noticing damage and telling things apart. Not a defence: a caller
// that chooses the bytes can find two inputs with one hash.
#pragma once

#include "base/bytes.h"

namespace ruv {

// The same on every machine. Eight lanes take a word each in turn, so that the multiplications of
// one round overlap and one core hashes about as fast as it reads memory.
uint64_t hash_bytes(Bytes bytes, uint64_t seed = 0);

}  // namespace ruv
