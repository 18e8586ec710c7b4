// NVFP4: four-bit floats (E2M1), two in a byte, 16 of them under a scale in E4M3, and those under
// one float32 for the tensor.
//
//   ModelOpt             weight (n_out, n_in / 2), weight_scale, weight_scale_2, which multiplies
//   compressed-tensors   weight_packed, weight_scale, weight_global_scale, which divides
#include "format/foreign/nvfp4.h"

namespace ruv {
namespace {

constexpr int64_t kGroup = 16;

}  // namespace

Status read_nvfp4_module(const std::string& module, const NvPieces& pieces,
                         ForeignCheckpoint& checkpoint) {
  const SafetensorsTensor& codes = *TRY(checkpoint.need(module, pieces.codes, "U8"));
  const SafetensorsTensor& scales = *TRY(checkpoint.need(module, "weight_scale", "F8_E4M3"));
  const SafetensorsTensor& global = *TRY(checkpoint.need(module, pieces.global, "F32"));
  if (codes.shape.size() != 2) return checkpoint.wrong(codes, "is not a matrix");
  if (const SafetensorsTensor* const zeros = checkpoint.find(module, "weight_zero_point")) {
    return checkpoint.wrong(*zeros, "is not supported for NVFP4", Code::unsupported);
  }
  const PieceNumbers factor(global);
  if (factor.size() != 1) return checkpoint.wrong(global, "is not one number");
  CodedMatrix matrix{.kind = CodeKind::e2m1, .n_out = codes.shape[0], .n_in = 2 * codes.shape[1]};
  if (scales.shape != std::vector{matrix.n_out, ceil_of(matrix.n_in, kGroup)}) {
    return checkpoint.wrong(scales, fmt::format("does not have a scale for each {} of ({}, {})",
                                                kGroup, matrix.n_out, matrix.n_in));
  }
  const ScaleGrid grid = {.n_rows = matrix.n_out,
                          .n_columns = scales.shape[1],
                          .block_rows = 1,
                          .block_columns = kGroup};
  lay_scales(scales, grid, pieces.form, factor.at(0), matrix);
  lay_nibble_codes(codes, matrix);
  checkpoint.drop(module, "input_scale");
  checkpoint.drop(module, "input_global_scale");
  checkpoint.put(module, codes, std::move(matrix));
  return {};
}

Status read_model_opt_tensors(const ForeignConfig& config, ForeignCheckpoint& checkpoint) {
  for (const std::string& module : checkpoint.modules_with("weight_scale_2")) {
    TRY(read_nvfp4_module(module, {"weight", "weight_scale_2", GlobalScale::times}, checkpoint));
  }
  return read_float8_tensors(config, checkpoint);
}

}  // namespace ruv
