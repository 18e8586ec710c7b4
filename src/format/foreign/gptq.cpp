// GPTQ: words of 32 bits along the input.
//
//   qweight (n_in · bits / 32, n_out)   bit stream of each column, lowest bits first
//   qzeros (groups, n_out · bits / 32)  the same along the output; less one in format "gptq"
//   scales (groups, n_out)              f16, bf16 or f32
//   g_idx (n_in)                        the group of each input; absent: neighbours
//
// Bits and groups follow from the shapes, so that modules with settings of their own need no rule.
#include <algorithm>

#include "format/foreign/checkpoint.h"

namespace ruv {
namespace {

struct GptqPieces {
  const SafetensorsTensor* codes;
  const SafetensorsTensor* zeros;
  const SafetensorsTensor* scales;
  const SafetensorsTensor* order;  // null: none
};

// The bits of a code, by how much narrower qzeros is than scales.
Result<int> gptq_bits(const ForeignConfig& config, const GptqPieces& pieces,
                      const ForeignCheckpoint& checkpoint) {
  const int64_t n_out = pieces.scales->shape[1];
  for (const int bits : {2, 3, 4, 8}) {
    if (!config.by_module && !config.bits.contains(bits)) continue;
    if (pieces.zeros->shape[1] * 32 == n_out * bits) return bits;
  }
  return checkpoint.wrong(*pieces.zeros,
                          fmt::format("has {} columns, which fits no supported bits of {} outputs",
                                      pieces.zeros->shape[1], n_out));
}

Status check_gptq_shapes(const GptqPieces& pieces, const ForeignCheckpoint& checkpoint) {
  for (const SafetensorsTensor* const tensor : {pieces.codes, pieces.zeros, pieces.scales}) {
    if (tensor->shape.size() != 2) return checkpoint.wrong(*tensor, "is not a matrix");
  }
  if (pieces.codes->shape[1] != pieces.scales->shape[1]) {
    return checkpoint.wrong(*pieces.codes,
                            fmt::format("has {} columns, but scales has {}", pieces.codes->shape[1],
                                        pieces.scales->shape[1]));
  }
  if (pieces.zeros->shape[0] != pieces.scales->shape[0]) {
    return checkpoint.wrong(*pieces.zeros,
                            fmt::format("has {} groups, but scales has {}", pieces.zeros->shape[0],
                                        pieces.scales->shape[0]));
  }
  return {};
}

// The columns of a group: the config's, unless modules have their own.
Result<int64_t> gptq_group(const ForeignConfig& config, const GptqPieces& pieces, int64_t n_in,
                           const ForeignCheckpoint& checkpoint) {
  const int64_t n_groups = pieces.scales->shape[0];
  const int64_t group = config.group == 0 ? n_in : config.group;
  if (ceil_of(n_in, group) == n_groups) return group;
  if (config.by_module && n_in % n_groups == 0) return n_in / n_groups;
  return checkpoint.wrong(
      *pieces.scales, fmt::format("has {} groups, but {} inputs in groups of {} make {}", n_groups,
                                  n_in, group, ceil_of(n_in, group)));
}

// Groups in the order of columns are left out.
Status read_group_order(const SafetensorsTensor& order, const ForeignCheckpoint& checkpoint,
                        CodedMatrix& matrix) {
  if (order.shape != std::vector{matrix.n_in}) {
    return checkpoint.wrong(order, fmt::format("does not have {} numbers", matrix.n_in));
  }
  std::vector<int32_t> groups(static_cast<size_t>(matrix.n_in));
  bool is_plain = true;
  for (int64_t i = 0; i < matrix.n_in; ++i) {
    const uint32_t g = word_at(order.bytes.data(), i);
    if (g >= static_cast<uint64_t>(matrix.n_groups)) {
      return checkpoint.wrong(
          order, fmt::format("number {} is {}, which is not a group", i, static_cast<int32_t>(g)));
    }
    groups[static_cast<size_t>(i)] = static_cast<int32_t>(g);
    is_plain = is_plain && g == static_cast<uint64_t>(i / matrix.group);
  }
  if (!is_plain) matrix.group_of = std::move(groups);
  return {};
}

Status read_gptq_module(const ForeignConfig& config, const std::string& module,
                        ForeignCheckpoint& checkpoint) {
  const GptqPieces pieces = {
      TRY(checkpoint.need(module, "qweight", "I32")), TRY(checkpoint.need(module, "qzeros", "I32")),
      TRY(checkpoint.need(module, "scales", "F16 BF16 F32")),
      checkpoint.find(module, "g_idx") == nullptr ? nullptr
                                                  : TRY(checkpoint.need(module, "g_idx", "I32"))};
  TRY(check_gptq_shapes(pieces, checkpoint));
  const int bits = TRY(gptq_bits(config, pieces, checkpoint));
  CodedMatrix matrix{.n_bits = bits};
  matrix.n_out = pieces.scales->shape[1];
  matrix.n_groups = pieces.scales->shape[0];
  const int64_t n_words = pieces.codes->shape[0];
  if (n_words * 32 % bits != 0) {
    return checkpoint.wrong(*pieces.codes,
                            fmt::format("has {} rows, which do not hold a whole number "
                                        "of {}-bit codes",
                                        n_words, bits));
  }
  matrix.n_in = n_words * 32 / bits;
  matrix.group = TRY(gptq_group(config, pieces, matrix.n_in, checkpoint));
  if (pieces.order != nullptr) TRY(read_group_order(*pieces.order, checkpoint, matrix));
  const int64_t n_in = matrix.n_in;
  const int64_t n_out = matrix.n_out;
  const int64_t n_groups = matrix.n_groups;
  matrix.codes = [words = pieces.codes->bytes.data(), n_in, n_out, bits](int64_t row, uint8_t* to) {
    for (int64_t i = 0; i < n_in; ++i) to[i] = code_at(words + 4 * row, n_out, bits, i);
  };
  matrix.scales = [scales = PieceNumbers(*pieces.scales), n_groups, n_out](int64_t row, float* to) {
    for (int64_t g = 0; g < n_groups; ++g) to[g] = scales.at(g * n_out + row);
  };
  matrix.has_f16_scales = has_f16_numbers(*pieces.scales);
  matrix.zeros_in = ZeroRange{0, (1 << bits) - 1};
  // The one that was taken away wraps around, as does adding it again.
  const int less = config.zeros_less_one ? 1 : 0;
  const int64_t n_zero_words = pieces.zeros->shape[1];
  matrix.zeros = [words = pieces.zeros->bytes.data(), n_groups, n_zero_words, bits, less](
                     int64_t row, float* to) {
    for (int64_t g = 0; g < n_groups; ++g) {
      const int stored = code_at(words + 4 * g * n_zero_words, 1, bits, row);
      to[g] = static_cast<float>((stored + less) & ((1 << bits) - 1));
    }
  };
  checkpoint.put(module, *pieces.codes, std::move(matrix));
  return {};
}

}  // namespace

Status read_gptq_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint) {
  for (const std::string& module : checkpoint.modules_with("qweight")) {
    TRY(read_gptq_module(config, module, checkpoint));
  }
  return {};
}

}  // namespace ruv
