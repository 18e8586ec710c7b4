// ForeignConfig: what the quantization_config of a checkpoint says of its weights. Keys that change
// the weights' meaning are honoured or refused by name; those of the tool's own work (damping,
// calibration, kernels) have no effect on weights that are already made.
#pragma once

#include <optional>
#include <set>

#include "base/faults.h"
#include "format/config_members.h"

namespace ruv {

enum class ForeignScheme : uint8_t {
  gptq,                // qweight, qzeros, scales, g_idx
  awq,                 // the same, words of eight neighbours in the output
  awq_rows,            // "gemv": words along the input
  compressed_tensors,  // weight_packed or weight, weight_scale, weight_zero_point
  float8,              // weight in FP8, weight_scale_inv or weight_scale
  model_opt,           // NVFP4 and FP8 of NVIDIA ModelOpt
  bitsandbytes,        // NF4, FP4, int8
  hqq,                 // W_q, scale, zero
  ternary,             // two bits for each number, four rows in one
  in_names,            // gpt-oss: MXFP4 whose codes and scales have names of the family
};

struct ForeignConfig {
  ForeignScheme scheme = ForeignScheme::in_names;
  std::string key;             // "quantization_config", for errors
  std::set<int64_t> bits;      // that integers may have
  int64_t group = 0;           // columns under one scale; 0: the whole row, or the tensors say it
  bool zeros_less_one = true;  // GPTQ: qzeros are stored less one
  bool by_module = false;      // modules may differ from bits and group
  bool divides_by_scale = false;              // BitNet: weights are divided by weight_scale
  int64_t block_rows = 0, block_columns = 0;  // FP8 under one scale; 0: not by blocks
  std::vector<std::string> remarks;
};

// Whether a method of this name is read at all.
bool is_foreign_method(const Json& settings);
// Requires: is_foreign_method(config.json()). `key`: where it was found. Fails: unsupported,
// corrupt, naming the key.
Result<ForeignConfig> parse_foreign_config(const Members& config, std::string key);
// Takes the settings of quantised weights away from a config.json, where they may be in the object
// of the text model; nothing where there are none, or of a method that is not read, which stay.
// Fails: corrupt; what is not supported is added to `faults`.
Result<std::optional<ForeignConfig>> take_foreign_config(Json& json, const std::string& source,
                                                         Faults& faults);
// Files beside config.json that older tools wrote for it: hf_quant_config.json of ModelOpt,
// quantize_config.json of AutoGPTQ, quant_config.json of AutoAWQ, as a quantization_config.
struct ForeignFile {
  std::string_view name;
  std::string_view method;
};
std::span<const ForeignFile> foreign_config_files();
// The settings in such a file. Fails: corrupt.
Result<Json> parse_foreign_file(std::string_view text, const std::string& source,
                                std::string_view method);

}  // namespace ruv
