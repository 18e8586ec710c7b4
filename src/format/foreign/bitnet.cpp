// BitNet: ternary numbers plus one, two bits each. Row r of a weight (n_out / 4, n_in) has rows r,
// r + n_out / 4, … of the matrix, lowest bits first; weight_scale is one number for the matrix.
#include "format/foreign/checkpoint.h"

namespace ruv {

Status read_bitnet_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint) {
  for (const std::string& module : checkpoint.modules_with("weight_scale")) {
    const SafetensorsTensor& scale = *TRY(checkpoint.need(module, "weight_scale", "F32 BF16 F16"));
    const SafetensorsTensor& codes = *TRY(checkpoint.need(module, "weight", "U8"));
    const PieceNumbers numbers(scale);
    if (codes.shape.size() != 2) return checkpoint.wrong(codes, "is not a matrix");
    if (numbers.size() != 1) return checkpoint.wrong(scale, "is not one number");
    const int64_t n_rows = codes.shape[0];
    CodedMatrix matrix{.n_bits = 2, .n_out = 4 * n_rows, .n_in = codes.shape[1]};
    matrix.group = matrix.n_in;
    matrix.n_groups = 1;
    matrix.codes = [bytes = codes.bytes.data(), n_rows, n_in = matrix.n_in](int64_t row,
                                                                            uint8_t* to) {
      const std::byte* const from = bytes + row % n_rows * n_in;
      const auto shift = static_cast<int>(2 * (row / n_rows));
      for (int64_t i = 0; i < n_in; ++i) {
        to[i] = static_cast<uint8_t>(static_cast<uint8_t>(from[i]) >> shift & 3);
      }
    };
    const float factor = config.divides_by_scale ? 1.0F / numbers.at(0) : numbers.at(0);
    matrix.scales = [factor](int64_t, float* to) { *to = factor; };
    matrix.zeros = [](int64_t, float* to) { *to = 1; };
    checkpoint.put(module, codes, std::move(matrix));
  }
  return {};
}

}  // namespace ruv
