// Keys of classes whose layers are attention or a gated short convolution.
#include <algorithm>
#include <cmath>

#include "format/hf_values.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr int64_t kMaxTaps = 1024;

Result<std::vector<bool>> by_types(const Members& config, int64_t n_layers) {
  const Json& types = *config.find("layer_types");
  if (!types.is_array() || types.size() != static_cast<size_t>(n_layers)) {
    return config.wrong("layer_types", "is not an array with one text for each layer");
  }
  std::vector<bool> attends;
  for (const Json& type : types) {
    if (type != "conv" && type != "full_attention") {
      return config.wrong(
          "layer_types",
          fmt::format("has the kind {}; conv and full_attention are supported in this family",
                      quoted_name(type.dump())),
          Code::unsupported);
    }
    attends.push_back(type == "full_attention");
  }
  return attends;
}

// Numbers that no layer has are ignored, as by the class.
Result<std::vector<bool>> by_indices(const Members& config, int64_t n_layers) {
  const Json& indices = *config.find("full_attn_idxs");
  const auto is_integer = [](const Json& index) { return index.is_number_integer(); };
  if (!indices.is_array() || !std::ranges::all_of(indices, is_integer)) {
    return config.wrong("full_attn_idxs", "is not an array of integers");
  }
  std::vector<bool> attends;
  for (int64_t i = 0; i < n_layers; ++i) attends.push_back(std::ranges::count(indices, i) > 0);
  return attends;
}

}  // namespace

Status read_hf_short_conv(const Members& config, int64_t n_layers, int64_t n_kv_heads,
                          HfValues& out) {
  std::vector<bool> attends(static_cast<size_t>(n_layers), true);
  const bool has_types = config.is_set("layer_types");
  if (has_types) {
    attends = TRY(by_types(config, n_layers));
  } else if (config.is_set("full_attn_idxs")) {
    attends = TRY(by_indices(config, n_layers));
  }
  auto counts = std::make_shared<MetaArray>();
  for (const bool has_heads : attends) counts->integers.push_back(has_heads ? n_kv_heads : 0);
  out.set("attention.head_count_kv", std::shared_ptr<const MetaArray>(counts),
          config.path_of(has_types ? "layer_types" : "full_attn_idxs"));
  const int64_t n_taps = TRY(config.positive_or("conv_L_cache", 3));
  if (n_taps > kMaxTaps) return config.wrong("conv_L_cache", "is above 1024");
  out.set("shortconv.l_cache", n_taps, config.path_of("conv_L_cache"));
  out.set("conv_bias", TRY(config.truth("conv_bias")).value_or(false), config.path_of("conv_bias"));
  return {};
}

// Two thirds of the width that is given, as gated feed-forwards are sized, times a factor, rounded
// up to whole blocks.
Result<int64_t> read_block_width(const Members& config) {
  const std::string_view name = config.has("block_ff_dim") ? "block_ff_dim" : "intermediate_size";
  const int64_t given = TRY(config.positive_or(name, 12288));
  if (!TRY(config.truth("block_auto_adjust_ff_dim")).value_or(true)) return given;
  const double factor = TRY(config.number("block_ffn_dim_multiplier")).value_or(1.0);
  const int64_t block = TRY(config.positive_or("block_multiple_of", 256));
  const double scaled = std::trunc(factor * static_cast<double>(2 * given / 3));
  if (!(scaled >= 1) || scaled > INT32_MAX) {
    return config.wrong("block_ffn_dim_multiplier", "makes a width out of range");
  }
  const auto width = static_cast<int64_t>(scaled);
  return (width + block - 1) / block * block;
}

}  // namespace ruv
