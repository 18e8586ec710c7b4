// A hash for tables whose keys a stranger chooses: SipHash-1-3 (Aumasson and Bernstein, 2012) under
// a key that the process draws when it starts. Without the key no caller can look for keys
// that collide. Differs from run to run, so no order may depend on it.
#pragma once

#include <cstdint>
#include <string_view>

namespace ruv {

// 128 bits, secret for the life of the process.
struct HashKey {
  uint64_t low, high;
};

// The hash under the process's own key, and under a given one for tests.
uint64_t keyed_hash(std::string_view text);
uint64_t keyed_hash(std::string_view text, HashKey key);

}  // namespace ruv
