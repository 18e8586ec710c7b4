#include "text/token_mask.h"

#include <algorithm>
#include <limits>

namespace ruv {

// A mask mostly has few tokens or nearly all, so whole words are settled at once.
void TokenMask::apply(std::span<float> logits) const {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  for (size_t first = 0; first < logits.size(); first += kWordBits) {
    const std::span<float> part =
        logits.subspan(first, std::min<size_t>(kWordBits, logits.size() - first));
    const uint64_t word = words_[first / kWordBits];
    if (word == ~uint64_t{0}) continue;
    for (size_t i = 0; i < part.size(); ++i) {
      if ((word >> i & 1) == 0) part[i] = kNever;
    }
  }
}

}  // namespace ruv
