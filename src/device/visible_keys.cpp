#include "device/visible_keys.h"

#include <algorithm>

namespace ruv {

Range visible_keys(const Batch& batch, const BatchSequence& sequence, int64_t row,
                   const AttendParams& params) {
  const int64_t position = sequence.first_position + row;
  const int64_t window = params.window;
  if (params.of_source) return {0, sequence.n_source};
  const int64_t first = position < sequence.n_source ? 0 : sequence.n_source;
  Range keys = {window > 0 ? std::max(first, position - window + 1) : first, position + 1};
  if (window > 0 && params.chunked) keys.begin = std::max(first, position / window * window);
  if (batch.blocks.empty()) return keys;
  const int64_t at = sequence.row_begin + row;
  const auto block = std::ranges::upper_bound(batch.blocks, at, {}, &Range::end);
  if (block == batch.blocks.end() || block->begin > at) return keys;
  const Range own = {position - (at - block->begin), position + (block->end - at)};
  if (window > 0 && params.both_ways) {
    return {std::max(keys.begin, own.begin), std::min(position + window, own.end)};
  }
  return {std::min(keys.begin, own.begin), own.end};
}

}  // namespace ruv
