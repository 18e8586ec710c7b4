// A slot for every 64 bytes of text, up to 768 KiB: fresh memory costs more than a few words do.
#include "text/word_memo.h"

#include <algorithm>

namespace ruv {

void WordMemo::fit(size_t n_bytes) {
  const size_t n_slots = std::clamp<size_t>(std::bit_ceil(n_bytes / 64 + 1), 64, 1U << 14);
  if (n_slots <= slots_.size()) return;
  slots_.assign(n_slots, Slot{});
  shift_ = static_cast<unsigned>(65 - std::countr_zero(n_slots));
}

}  // namespace ruv
