// bitsandbytes.
//
//   4 bits   weight uint8: codes of the numbers in order, the even one in the upper half; absmax of
//            each blocksize numbers, which may cross rows, as f32, or as bytes (nested) under
//            nested_quant_map, nested_absmax and an offset; quant_map: the levels; quant_state:
//            JSON
//   int8     weight int8, SCB f32 of each row: a number is code · SCB / 127
#include <algorithm>

#include "format/foreign/scaled_weight.h"

#include "tensor/formats/levels.h"

namespace ruv {
namespace {

constexpr std::string_view kState = "weight.quant_state.bitsandbytes__";
constexpr size_t kMaxStateBytes = 1 << 16;

// The factor of each block, exactly as the tool computes it.
struct BlockFactors {
  PieceNumbers absmax;
  std::optional<PieceNumbers> nested_absmax = {}, nested_map = {};
  int64_t nested_block = 1;
  float offset = 0;

  float at(int64_t block) const {
    if (!nested_absmax) return absmax.at(block);
    const auto code = static_cast<int64_t>(absmax.at(block));
    const float factor = nested_map->at(code) * nested_absmax->at(block / nested_block);
    return factor + offset;
  }
};

struct FourBitState {
  int64_t n_out = 0, n_in = 0, block = 0, nested_block = 0;
  float offset = 0;
  bool is_nested = false;
};

Result<FourBitState> parse_state(const SafetensorsTensor& tensor,
                                 const ForeignCheckpoint& checkpoint) {
  if (tensor.bytes.size() > kMaxStateBytes) return checkpoint.wrong(tensor, "is too long");
  const auto json = parse_json(as_text(tensor.bytes), "quant_state", {.depth = 8});
  if (!json || !json->is_object()) return checkpoint.wrong(tensor, "is not a JSON object");
  const std::string source = "quant_state";
  const Members state(*json, source);
  const auto wrong = [&](const Status& status) {
    return checkpoint.wrong(tensor, status.message());
  };
  const Json* const shape = state.find("shape");
  const auto is_length = [](const Json& one) {
    return one.is_number_integer() && one.get<int64_t>() > 0 && one.get<int64_t>() < (1LL << 31);
  };
  if (shape == nullptr || !shape->is_array() || shape->size() != 2 ||
      !std::all_of(shape->begin(), shape->end(), is_length)) {
    return checkpoint.wrong(tensor, "has no 'shape' of two lengths");
  }
  FourBitState out;
  out.n_out = shape->front().get<int64_t>();
  out.n_in = shape->back().get<int64_t>();
  const auto block = state.positive("blocksize");
  if (!block) return wrong(block.error());
  out.block = *block;
  out.is_nested = state.is_set("nested_blocksize");
  if (!out.is_nested) return out;
  const auto nested = state.positive("nested_blocksize");
  if (!nested) return wrong(nested.error());
  out.nested_block = *nested;
  const auto offset = state.number("nested_offset");
  if (!offset) return wrong(offset.error());
  out.offset = static_cast<float>(offset->value_or(0));
  return out;
}

// The levels are a table of ours, or the file is refused.
Status check_levels(const SafetensorsTensor& map, CodeKind kind,
                    const ForeignCheckpoint& checkpoint) {
  const PieceNumbers levels(map);
  const auto& ours = kind == CodeKind::nf4 ? kLevelsNf4 : kLevelsFp4;
  bool is_ours = levels.size() == 16;
  for (int64_t i = 0; is_ours && i < 16; ++i) is_ours = levels.at(i) == ours[i];
  if (is_ours) return {};
  return checkpoint.wrong(map, "has other levels than those of its kind", Code::unsupported);
}

Result<BlockFactors> read_factors(const std::string& module, const FourBitState& state,
                                  int64_t n_blocks, ForeignCheckpoint& checkpoint) {
  const SafetensorsTensor& absmax =
      *TRY(checkpoint.need(module, "weight.absmax", state.is_nested ? "U8" : "F32"));
  BlockFactors factors{.absmax = PieceNumbers(absmax)};
  if (factors.absmax.size() != n_blocks) {
    return checkpoint.wrong(
        absmax, fmt::format("has {} numbers for {} blocks", factors.absmax.size(), n_blocks));
  }
  if (!state.is_nested) return factors;
  const SafetensorsTensor& nested = *TRY(checkpoint.need(module, "weight.nested_absmax", "F32"));
  const SafetensorsTensor& map = *TRY(checkpoint.need(module, "weight.nested_quant_map", "F32"));
  factors.nested_absmax = PieceNumbers(nested);
  factors.nested_map = PieceNumbers(map);
  factors.nested_block = state.nested_block;
  factors.offset = state.offset;
  if (factors.nested_map->size() != 256) return checkpoint.wrong(map, "does not have 256 numbers");
  if (factors.nested_absmax->size() != ceil_of(n_blocks, state.nested_block)) {
    return checkpoint.wrong(nested, "does not have a number for each of its blocks");
  }
  return factors;
}

Status read_four_bits(const std::string& module, CodeKind kind, std::string_view state_name,
                      ForeignCheckpoint& checkpoint) {
  const SafetensorsTensor& stored = *TRY(checkpoint.need(module, state_name, "U8"));
  const FourBitState state = TRY(parse_state(stored, checkpoint));
  const SafetensorsTensor& codes = *TRY(checkpoint.need(module, "weight", "U8"));
  const int64_t n = state.n_out * state.n_in;
  if (ceil_of(n, 2) != std::ssize(codes.bytes)) {
    return checkpoint.wrong(codes, fmt::format("has {} bytes for ({}, {}) numbers",
                                               codes.bytes.size(), state.n_out, state.n_in));
  }
  TRY(check_levels(*TRY(checkpoint.need(module, "weight.quant_map", "F32")), kind, checkpoint));
  const BlockFactors factors =
      TRY(read_factors(module, state, ceil_of(n, state.block), checkpoint));
  CodedMatrix matrix{.kind = kind, .n_out = state.n_out, .n_in = state.n_in};
  // Blocks run on over the ends of rows: groups are such that none crosses the end of a block.
  const bool is_even = state.n_in % 32 == 0 && state.block % 32 == 0;
  matrix.group = is_even ? 32 : 1;
  matrix.n_groups = matrix.n_in / matrix.group;
  const int64_t n_in = matrix.n_in;
  matrix.codes = [bytes = codes.bytes.data(), n_in](int64_t row, uint8_t* to) {
    for (int64_t i = 0; i < n_in; ++i) {
      const int64_t at = row * n_in + i;
      const auto pair = static_cast<uint8_t>(bytes[at / 2]);
      to[i] = static_cast<uint8_t>(at % 2 == 0 ? pair >> 4 : pair & 0xF);
    }
  };
  matrix.scales = [factors, n_in, group = matrix.group, block = state.block](int64_t row,
                                                                             float* to) {
    for (int64_t i = 0; i < n_in; i += group) *to++ = factors.at((row * n_in + i) / block);
  };
  checkpoint.put(module, codes, std::move(matrix));
  return {};
}

Status read_int8(const std::string& module, ForeignCheckpoint& checkpoint) {
  const SafetensorsTensor& codes = *TRY(checkpoint.need(module, "weight", "I8"));
  const SafetensorsTensor& scales = *TRY(checkpoint.need(module, "SCB", "F32"));
  if (codes.shape.size() != 2 || std::ssize(scales.bytes) != 4 * codes.shape[0]) {
    return checkpoint.wrong(scales, "does not have a number for each row of the weight");
  }
  CodedMatrix matrix{.n_bits = 8, .n_out = codes.shape[0], .n_in = codes.shape[1]};
  if (const SafetensorsTensor* const form = checkpoint.take(module, "weight_format")) {
    const bool is_rows =
        form->dtype_name == "U8" && form->bytes.size() == 1 && form->bytes[0] == std::byte{0};
    if (!is_rows) return checkpoint.wrong(*form, "is not 0 (rows)", Code::unsupported);
  }
  matrix.group = matrix.n_in;
  matrix.n_groups = 1;
  matrix.codes = [bytes = codes.bytes.data(), n_in = matrix.n_in](int64_t row, uint8_t* to) {
    for (int64_t i = 0; i < n_in; ++i) {
      to[i] = static_cast<uint8_t>(static_cast<uint8_t>(bytes[row * n_in + i]) ^ 0x80U);
    }
  };
  matrix.scales = [numbers = PieceNumbers(scales)](int64_t row, float* to) {
    *to = numbers.at(row) / 127.0F;
  };
  matrix.zeros = [](int64_t, float* to) { *to = 128; };
  matrix.zeros_in = ZeroRange{128, 128};
  checkpoint.put(module, codes, std::move(matrix));
  return {};
}

}  // namespace

Status read_bitsandbytes_tensors(const ForeignConfig& /*config*/, ForeignCheckpoint& checkpoint) {
  for (const auto& [kind, name] :
       {std::pair(CodeKind::nf4, "nf4"), std::pair(CodeKind::fp4, "fp4")}) {
    const std::string state = fmt::format("{}{}", kState, name);
    for (const std::string& module : checkpoint.modules_with(state)) {
      TRY(read_four_bits(module, kind, state, checkpoint));
    }
  }
  for (const std::string& module : checkpoint.modules_with("weight")) {
    if (checkpoint.find(module, "weight")->dtype_name != "I8") continue;
    TRY(read_int8(module, checkpoint));
  }
  return {};
}

}  // namespace ruv
