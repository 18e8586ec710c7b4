// A hash for tables whose keys a stranger chooses: SipHash-1-3 (Aumasson and Bernstein, 2012) under
// a key that the process draws when it starts. Without the key no caller can look for keys
// that collide. Differs from run to run, so no order may depend on it.
#pragma once

#include <cstdint>
#include <string_view>

namespace ruv {

struct HashKey {
  uint64_t low, high;
};

uint64_t keyed_hash(std::string_view text);
uint64_t keyed_hash(std::string_view text, HashKey key);

}  // namespace ruv
