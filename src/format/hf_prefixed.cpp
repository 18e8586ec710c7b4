// Which layers have a window and positions, where dense layers come before those with experts and
// have a period of their own.
#include <algorithm>

#include "format/hf_values.h"

namespace ruv {
namespace {

constexpr std::string_view kWindowKinds = "layer_types";

Result<std::vector<bool>> listed_windows(const Members& config, int64_t n_layers) {
  std::vector<bool> windowed;
  const Json& types = *config.find(kWindowKinds);
  const auto is_kind = [](const Json& type) {
    return type == "sliding_attention" || type == "full_attention";
  };
  if (!types.is_array() || std::cmp_not_equal(types.size(), n_layers) ||
      !std::all_of(types.begin(), types.end(), is_kind)) {
    return config.wrong(kWindowKinds,
                        "is not an array with sliding_attention or full_attention for each layer",
                        Code::unsupported);
  }
  for (const Json& type : types) windowed.push_back(type == "sliding_attention");
  return windowed;
}

}  // namespace

Status read_hf_prefixed(const Members& config, int64_t n_layers, HfValues& out) {
  const HfClass& hf = out.hf();
  if (config.is_set("rope_scaling")) {
    return config.wrong("rope_scaling", "is not read by this model class", Code::unsupported);
  }
  const int64_t first_period = TRY(config.positive_or(hf.prefix_period_key, 1));
  const int64_t period = TRY(config.positive_or(hf.period_key, out.family().block.window_period));
  const std::string_view first_dense = hf.experts.first_dense.names;
  const int64_t n_first = config.is_set(first_dense) ? TRY(config.integer(first_dense)) : 0;
  std::vector<bool> windowed;
  for (int64_t i = 0; i < n_layers; ++i) {
    const bool is_first = i < n_first;
    windowed.push_back((is_first ? i + 1 : i - n_first + 1) % (is_first ? first_period : period) !=
                       0);
  }
  if (config.is_set(kWindowKinds)) windowed = TRY(listed_windows(config, n_layers));
  const bool any = std::ranges::count(windowed, true) > 0;
  const bool is_null = config.has(hf.window_key) && !config.is_set(hf.window_key);
  if (any && is_null) {
    return config.wrong(hf.window_key, "is null, but layers have a window", Code::unsupported);
  }
  if (any) {
    out.set("attention.sliding_window", TRY(config.positive_or(hf.window_key, hf.window)),
            config.path_of(hf.window_key));
  }
  auto rotated = std::make_shared<MetaArray>();
  rotated->bools = windowed;
  const std::vector<bool> experts = TRY(read_hf_expert_layers(config, n_layers, hf.experts));
  for (size_t i = 0; i < experts.size(); ++i) {
    if (!experts[i] && first_period == 1) rotated->bools[i] = true;
  }
  auto pattern = std::make_shared<MetaArray>();
  pattern->bools = std::move(windowed);
  out.set("attention.sliding_window_pattern", std::shared_ptr<const MetaArray>(pattern),
          config.path_of(kWindowKinds));
  out.set("rope.rotated_layers", std::shared_ptr<const MetaArray>(rotated),
          config.path_of(hf.prefix_period_key));
  return {};
}

}  // namespace ruv
