// AWQ: four-bit codes, eight in a word of 32 bits, with scales and zeros of groups of inputs.
//
//   gemm   qweight (n_in, n_out / 8), qzeros (groups, n_out / 8), scales (groups, n_out): a word
//   has
//          eight neighbours in the output, nibble k that of output kWordOrder[k]
//   gemv   qweight (n_out, n_in / 8), qzeros (n_out, words), scales (n_out, 8 · words): a word has
//          eight neighbours in the input or of the groups, in order; spare groups at the end
#include <array>

#include "format/foreign/checkpoint.h"

namespace ruv {
namespace {

// Nibble of the output 8c + i: the inverse of the order 0, 2, 4, 6, 1, 3, 5, 7.
constexpr std::array<int, 8> kNibbleOf = {0, 4, 1, 5, 2, 6, 3, 7};

struct AwqPieces {
  const SafetensorsTensor* codes;
  const SafetensorsTensor* zeros;
  const SafetensorsTensor* scales;
};

uint8_t nibble_of(const std::byte* words, int64_t word, int nibble) {
  return static_cast<uint8_t>(word_at(words, word) >> (4 * nibble) & 0xF);
}

tl::unexpected<Status> misfit_of(const AwqPieces& pieces, const CodedMatrix& matrix,
                                 const ForeignCheckpoint& checkpoint) {
  return checkpoint.wrong(
      *pieces.scales, fmt::format("and qzeros do not fit {} outputs and {} inputs in groups of {}",
                                  matrix.n_out, matrix.n_in, matrix.group));
}

Status read_gemm_module(const AwqPieces& pieces, CodedMatrix& matrix,
                        const ForeignCheckpoint& checkpoint) {
  const int64_t n_words = pieces.codes->shape[1];
  matrix.n_in = pieces.codes->shape[0];
  matrix.n_out = 8 * n_words;
  if (matrix.group == 0) matrix.group = matrix.n_in;
  matrix.n_groups = ceil_of(matrix.n_in, matrix.group);
  if (pieces.zeros->shape != std::vector{matrix.n_groups, n_words} ||
      pieces.scales->shape != std::vector{matrix.n_groups, matrix.n_out}) {
    return misfit_of(pieces, matrix, checkpoint);
  }
  const int64_t n_in = matrix.n_in;
  const int64_t n_out = matrix.n_out;
  const int64_t n_groups = matrix.n_groups;
  const auto column = [n_words](const std::byte* words, int64_t n, int64_t row, auto* to) {
    const int nibble = kNibbleOf[static_cast<size_t>(row % 8)];
    for (int64_t i = 0; i < n; ++i) to[i] = nibble_of(words, i * n_words + row / 8, nibble);
  };
  matrix.codes = [column, words = pieces.codes->bytes.data(), n_in](int64_t row, uint8_t* to) {
    column(words, n_in, row, to);
  };
  matrix.zeros = [column, words = pieces.zeros->bytes.data(), n_groups](int64_t row, float* to) {
    column(words, n_groups, row, to);
  };
  matrix.scales = [scales = PieceNumbers(*pieces.scales), n_groups, n_out](int64_t row, float* to) {
    for (int64_t g = 0; g < n_groups; ++g) to[g] = scales.at(g * n_out + row);
  };
  return {};
}

Status read_gemv_module(const AwqPieces& pieces, CodedMatrix& matrix,
                        const ForeignCheckpoint& checkpoint) {
  const int64_t n_words = pieces.codes->shape[1];
  const int64_t n_zero_words = pieces.zeros->shape[1];
  matrix.n_out = pieces.codes->shape[0];
  matrix.n_in = 8 * n_words;
  if (matrix.group == 0) matrix.group = matrix.n_in;
  matrix.n_groups = ceil_of(matrix.n_in, matrix.group);
  const int64_t n_stored = pieces.scales->shape[1];
  if (pieces.zeros->shape[0] != matrix.n_out || pieces.scales->shape[0] != matrix.n_out ||
      n_stored < matrix.n_groups || ceil_of(matrix.n_groups, 8) > n_zero_words) {
    return misfit_of(pieces, matrix, checkpoint);
  }
  const int64_t n_in = matrix.n_in;
  const int64_t n_groups = matrix.n_groups;
  const auto line = [](const std::byte* words, int64_t first, int64_t n, auto* to) {
    for (int64_t i = 0; i < n; ++i)
      to[i] = nibble_of(words, first + i / 8, static_cast<int>(i % 8));
  };
  matrix.codes = [line, words = pieces.codes->bytes.data(), n_in, n_words](
                     int64_t row, uint8_t* to) { line(words, row * n_words, n_in, to); };
  matrix.zeros = [line, words = pieces.zeros->bytes.data(), n_groups, n_zero_words](
                     int64_t row, float* to) { line(words, row * n_zero_words, n_groups, to); };
  matrix.scales = [scales = PieceNumbers(*pieces.scales), n_groups, n_stored](int64_t row,
                                                                              float* to) {
    for (int64_t g = 0; g < n_groups; ++g) to[g] = scales.at(row * n_stored + g);
  };
  return {};
}

Status read_awq_module(const ForeignConfig& config, const std::string& module,
                       ForeignCheckpoint& checkpoint) {
  const AwqPieces pieces = {TRY(checkpoint.need(module, "qweight", "I32")),
                            TRY(checkpoint.need(module, "qzeros", "I32")),
                            TRY(checkpoint.need(module, "scales", "F16 BF16 F32"))};
  for (const SafetensorsTensor* const tensor : {pieces.codes, pieces.zeros, pieces.scales}) {
    if (tensor->shape.size() != 2) return checkpoint.wrong(*tensor, "is not a matrix");
  }
  CodedMatrix matrix{.n_bits = 4, .group = config.group};
  matrix.has_f16_scales = has_f16_numbers(*pieces.scales);
  matrix.zeros_in = ZeroRange{0, 15};
  TRY(config.scheme == ForeignScheme::awq ? read_gemm_module(pieces, matrix, checkpoint)
                                          : read_gemv_module(pieces, matrix, checkpoint));
  checkpoint.put(module, *pieces.codes, std::move(matrix));
  return {};
}

}  // namespace

Status read_awq_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint) {
  for (const std::string& module : checkpoint.modules_with("qweight")) {
    TRY(read_awq_module(config, module, checkpoint));
  }
  return {};
}

}  // namespace ruv
