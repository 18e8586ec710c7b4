// FP8 (E4M3 or E5M2) under one scale, one for each row, or one for each block, as DeepSeek and Qwen
// publish it (weight_scale_inv, which multiplies in spite of its name), as FBGEMM (weight_scale)
// and ModelOpt have it.
#include "format/foreign/scaled_weight.h"

namespace ruv {
namespace {

bool is_float8(const SafetensorsTensor& tensor) {
  return tensor.dtype_name == "F8_E4M3" || tensor.dtype_name == "F8_E5M2";
}

}  // namespace

Status read_float8_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint) {
  for (const std::string& module : checkpoint.modules_with("weight")) {
    if (!is_float8(*checkpoint.find(module, "weight"))) continue;
    const SafetensorsTensor& codes = *TRY(checkpoint.need(module, "weight", "F8_E4M3 F8_E5M2"));
    if (codes.shape.size() != 2) return checkpoint.wrong(codes, "is FP8 and not a matrix");
    const bool is_inverse = checkpoint.find(module, "weight_scale_inv") != nullptr;
    const SafetensorsTensor& scales = *TRY(checkpoint.need(
        module, is_inverse ? "weight_scale_inv" : "weight_scale", "F32 BF16 F16 F8_E8M0"));
    CodedMatrix matrix{.kind = codes.dtype_name == "F8_E4M3" ? CodeKind::e4m3 : CodeKind::e5m2,
                       .n_out = codes.shape[0],
                       .n_in = codes.shape[1]};
    const ScaleGrid grid =
        TRY(grid_of(scales, matrix, config.block_rows, config.block_columns, checkpoint));
    lay_scales(scales, grid, GlobalScale::none, 1, matrix);
    lay_byte_codes(codes, matrix);
    for (const std::string_view piece : {"input_scale", "activation_scale", "input_scale_ub"}) {
      checkpoint.drop(module, piece);
    }
    checkpoint.put(module, codes, std::move(matrix));
  }
  return {};
}

}  // namespace ruv
