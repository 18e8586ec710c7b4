// Weights whose codes are a matrix of bytes, or of nibbles in bytes, and whose scales are one
// number, one for each row, or a grid of blocks: what several tools have in common.
#pragma once

#include "format/foreign/checkpoint.h"

namespace ruv {

// How scale (i, j) of a grid is laid over a matrix.
struct ScaleGrid {
  int64_t n_rows = 1, n_columns = 1;  // of the grid
  int64_t block_rows = 0, block_columns = 0;
};

// The grid of a tensor of scales for n_out · n_in numbers: a scalar, a column, or blocks, whose
// sizes are `block_rows` and `block_columns` where known (not 0), else such that they divide the
// matrix. Fails: corrupt.
Result<ScaleGrid> grid_of(const SafetensorsTensor& scales, const CodedMatrix& matrix,
                          int64_t block_rows, int64_t block_columns,
                          const ForeignCheckpoint& checkpoint);
// Sets group, n_groups, scales and has_f16_scales of the matrix: each scale times or divided by
// `global`, in float32.
enum class GlobalScale : uint8_t { none, times, divided };
void lay_scales(const SafetensorsTensor& scales, const ScaleGrid& grid, GlobalScale form,
                float global, CodedMatrix& matrix);
// A byte each. Requires: n_out · n_in bytes, in rows.
void lay_byte_codes(const SafetensorsTensor& codes, CodedMatrix& matrix);
// Two in a byte, the even one low. Requires: n_out · n_in / 2 bytes, in rows.
void lay_nibble_codes(const SafetensorsTensor& codes, CodedMatrix& matrix);

}  // namespace ruv
