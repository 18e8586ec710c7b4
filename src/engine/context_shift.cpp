#include "engine/context_shift.h"

#include <algorithm>

namespace ruv {

DroppedTokens dropped_tokens(int64_t n, int64_t n_keep) {
  const int64_t begin = std::min(n_keep, n / 2);
  return {begin, begin + std::max<int64_t>(1, (n - begin) / 2)};
}

}  // namespace ruv
