// Keys of classes whose layers have experts.
#include <algorithm>

#include "format/hf_values.h"

namespace ruv {
namespace {

// The same number has two names, of which a class knows both.
Result<int64_t> read_count(const Members& config, int64_t otherwise) {
  constexpr std::string_view kName = "num_experts", kOther = "num_local_experts";
  if (!config.has(kName)) return config.positive_or(kOther, otherwise);
  const int64_t n_experts = TRY(config.positive(kName));
  if (config.has(kOther) && TRY(config.integer(kOther)) != n_experts) {
    return config.wrong(kOther, "differs from num_experts");
  }
  return n_experts;
}

// Numbers that no layer has are ignored, as by the class.
Result<std::vector<bool>> layers_with_experts(const Members& config, int64_t n_layers) {
  constexpr std::string_view kDense = "mlp_only_layers";
  const int64_t step = TRY(config.positive_or("decoder_sparse_step", 1));
  std::vector<bool> layers;
  for (int64_t i = 0; i < n_layers; ++i) layers.push_back((i + 1) % step == 0);
  if (!config.is_set(kDense)) return layers;
  const Json& dense = *config.find(kDense);
  const auto is_integer = [](const Json& index) { return index.is_number_integer(); };
  if (!dense.is_array() || !std::ranges::all_of(dense, is_integer)) {
    return config.wrong(kDense, "is not an array of integers");
  }
  for (int64_t i = 0; i < n_layers; ++i) {
    if (std::ranges::count(dense, i) > 0) layers[static_cast<size_t>(i)] = false;
  }
  return layers;
}

}  // namespace

Status read_hf_experts(const Members& config, int64_t n_layers, HfValues& out) {
  if (out.hf().experts == HfExperts::none) return {};
  const bool by_layer = out.hf().experts == HfExperts::by_layer;
  constexpr std::string_view kUsed = "num_experts_per_tok";
  const std::string count_name =
      config.path_of(config.has("num_experts") ? "num_experts" : "num_local_experts");
  out.set("expert_count", TRY(read_count(config, by_layer ? 128 : 8)), count_name);
  out.set("expert_used_count", TRY(config.positive_or(kUsed, by_layer ? 8 : 2)),
          config.path_of(kUsed));
  auto layers = std::make_shared<MetaArray>();
  layers->bools.assign(static_cast<size_t>(n_layers), true);
  if (by_layer) {
    constexpr std::string_view kWidth = "moe_intermediate_size", kNorm = "norm_topk_prob";
    out.set("expert_feed_forward_length", TRY(config.positive_or(kWidth, 768)),
            config.path_of(kWidth));
    out.set("expert_weights_norm", TRY(config.truth(kNorm)).value_or(false), config.path_of(kNorm));
    layers->bools = TRY(layers_with_experts(config, n_layers));
  }
  out.set("expert_layers", std::shared_ptr<const MetaArray>(layers),
          by_layer ? config.path_of("mlp_only_layers") : count_name);
  return {};
}

}  // namespace ruv
