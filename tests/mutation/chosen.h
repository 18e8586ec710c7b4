// For sources that tools/mutate made: whether the fault `id` is the one to show. Each use is noted.
#pragma once

#include <atomic>

namespace ruv::mutation {

inline constexpr int kMaxMutants = 4096;
extern const int chosen;
extern std::atomic<bool> reached[kMaxMutants];

inline bool is(int id) {
  reached[id].store(true, std::memory_order_relaxed);
  return id == chosen;
}

}  // namespace ruv::mutation
