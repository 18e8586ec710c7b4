#include "format/foreign/scaled_weight.h"

#include <fmt/ranges.h>

namespace ruv {

Result<ScaleGrid> grid_of(const SafetensorsTensor& scales, const CodedMatrix& matrix,
                          int64_t block_rows, int64_t block_columns,
                          const ForeignCheckpoint& checkpoint) {
  std::vector<int64_t> shape = scales.shape;
  while (shape.size() < 2) shape.push_back(1);
  ScaleGrid grid{.n_rows = shape[0], .n_columns = shape[1]};
  const bool is_grid = shape.size() == 2 && grid.n_rows > 0 && grid.n_columns > 0;
  grid.block_rows = block_rows;
  grid.block_columns = block_columns;
  if (is_grid && grid.n_rows == 1) grid.block_rows = matrix.n_out;
  if (is_grid && grid.n_columns == 1) grid.block_columns = matrix.n_in;
  if (is_grid && grid.n_rows == matrix.n_out) grid.block_rows = 1;
  if (is_grid && grid.block_rows == 0 && matrix.n_out % grid.n_rows == 0) {
    grid.block_rows = matrix.n_out / grid.n_rows;
  }
  if (is_grid && grid.block_columns == 0 && matrix.n_in % grid.n_columns == 0) {
    grid.block_columns = matrix.n_in / grid.n_columns;
  }
  const bool fits = is_grid && grid.block_rows > 0 && grid.block_columns > 0 &&
                    ceil_of(matrix.n_out, grid.block_rows) == grid.n_rows &&
                    ceil_of(matrix.n_in, grid.block_columns) == grid.n_columns;
  if (fits) return grid;
  return checkpoint.wrong(scales, fmt::format("of shape ({}) does not fit a matrix ({}, {}) in "
                                              "blocks of ({}, {})",
                                              fmt::join(scales.shape, ", "), matrix.n_out,
                                              matrix.n_in, block_rows, block_columns));
}

void lay_scales(const SafetensorsTensor& scales, const ScaleGrid& grid, GlobalScale form,
                float global, CodedMatrix& matrix) {
  matrix.group = grid.block_columns;
  matrix.n_groups = grid.n_columns;
  matrix.has_f16_scales = form == GlobalScale::none && has_f16_numbers(scales);
  matrix.scales = [numbers = PieceNumbers(scales), grid, form, global](int64_t row, float* to) {
    const int64_t first = row / grid.block_rows * grid.n_columns;
    for (int64_t g = 0; g < grid.n_columns; ++g) {
      const float scale = numbers.at(first + g);
      to[g] = form == GlobalScale::times     ? scale * global
              : form == GlobalScale::divided ? scale / global
                                             : scale;
    }
  };
}

void lay_byte_codes(const SafetensorsTensor& codes, CodedMatrix& matrix) {
  matrix.codes = [bytes = codes.bytes.data(), n_in = matrix.n_in](int64_t row, uint8_t* to) {
    std::memcpy(to, bytes + row * n_in, static_cast<size_t>(n_in));
  };
}

void lay_nibble_codes(const SafetensorsTensor& codes, CodedMatrix& matrix) {
  matrix.codes = [bytes = codes.bytes.data(), n_in = matrix.n_in](int64_t row, uint8_t* to) {
    const std::byte* const from = bytes + row * (n_in / 2);
    for (int64_t i = 0; i < n_in; ++i) {
      to[i] = static_cast<uint8_t>(static_cast<uint8_t>(from[i / 2]) >> (i % 2 * 4) & 0xF);
    }
  };
}

}  // namespace ruv
