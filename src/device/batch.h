// Batch: what one step computes, packed for the decoder: any mix of prompt chunks and single decode
// rows of several sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ruv {

using PageId = int32_t;

// Rows [row_begin, row_begin + n_rows) of the batch continue one sequence at first_position.
// `pages` hold its keys and values, page i the positions from i · kPageTokens.
struct BatchSequence {
  int64_t row_begin = 0;
  int64_t n_rows = 0;
  int64_t first_position = 0;
  std::span<const PageId> pages;
};

struct Batch {
  std::vector<int32_t> tokens;     // one per row
  std::vector<int32_t> positions;  // one per row
  std::vector<BatchSequence> sequences;
  std::vector<int32_t> output_rows;  // rows whose logits are wanted, ascending

  int64_t n_rows() const { return static_cast<int64_t>(tokens.size()); }
  void clear() {
    tokens.clear();
    positions.clear();
    sequences.clear();
    output_rows.clear();
  }
};

}  // namespace ruv
