// Heads and feed-forward widths that lists give for each layer.
#include <algorithm>
#include <cmath>

#include "format/hf_values.h"

namespace ruv {
namespace {

constexpr int64_t kMostOfLayer = int64_t{1} << 24;

// Counts above 0, one for each layer.
Result<std::vector<int64_t>> read_counts(const Members& config, std::string_view key,
                                         int64_t n_layers) {
  std::vector<int64_t> counts;
  if (config.is_set(key) && config.find(key)->is_array()) {
    for (const Json& one : *config.find(key)) {
      const int64_t n = one.is_number_integer() ? one.get<int64_t>() : 0;
      counts.push_back(n > 0 && n <= kMostOfLayer ? n : 0);
    }
  }
  if (std::ssize(counts) == n_layers && std::ranges::count(counts, 0) == 0) return counts;
  return config.wrong(key, "is not an array with a number above 0 for each layer");
}

// The multiple of `divisor` that is nearest to `exact` and not below nine tenths of it.
int64_t divisible(double exact, int64_t divisor) {
  const auto near = static_cast<int64_t>(exact + static_cast<double>(divisor) / 2);
  const int64_t width = std::max(divisor, near / divisor * divisor);
  return static_cast<double>(width) < 0.9 * exact ? width + divisor : width;
}

Result<std::vector<int64_t>> read_ff_widths(const Members& config, const HfLayerWidths& keys,
                                            int64_t n_layers, int64_t width) {
  const int64_t divisor = TRY(config.positive_or(keys.ff_divisor_key, keys.ff_divisor));
  std::vector<int64_t> widths;
  if (config.is_set(keys.ff_factors) && config.find(keys.ff_factors)->is_array()) {
    for (const Json& one : *config.find(keys.ff_factors)) {
      const double exact = one.is_number() ? one.get<double>() * static_cast<double>(width) : 0;
      const bool in_range = exact > 0 && exact < static_cast<double>(kMostOfLayer);
      widths.push_back(in_range ? divisible(exact, divisor) : 0);
    }
  }
  if (std::ssize(widths) == n_layers && std::ranges::count(widths, 0) == 0) return widths;
  return config.wrong(keys.ff_factors, "is not an array with a factor above 0 for each layer");
}

void set_list(std::string_view key, std::vector<int64_t> values, std::string name, HfValues& out) {
  auto list = std::make_shared<MetaArray>();
  list->integers = std::move(values);
  out.set(key, std::shared_ptr<const MetaArray>(list), std::move(name));
}

}  // namespace

Status read_hf_ff_list(const Members& config, int64_t n_layers, std::string_view key,
                       HfValues& out) {
  std::vector<int64_t> widths = TRY(read_counts(config, key, n_layers));
  set_list("feed_forward_length", std::move(widths), config.path_of(key), out);
  return {};
}

Result<int64_t> read_hf_layer_widths(const Members& config, int64_t n_layers, int64_t width,
                                     HfValues& out) {
  const HfLayerWidths& keys = out.hf().widths;
  if (config.is_set("rope_scaling")) {
    return config.wrong("rope_scaling", "is not read by this model class", Code::unsupported);
  }
  std::vector<int64_t> heads = TRY(read_counts(config, keys.heads, n_layers));
  std::vector<int64_t> kv_heads = TRY(read_counts(config, keys.kv_heads, n_layers));
  if (config.is_set(keys.group_key)) {
    const int64_t group = TRY(config.positive(keys.group_key));
    for (size_t i = 0; i < heads.size(); ++i) {
      if (heads[i] / group == kv_heads[i]) continue;
      return config.wrong(keys.group_key,
                          fmt::format("is not the heads for each key head of layer {}", i));
    }
  }
  set_list("attention.head_count", std::move(heads), config.path_of(keys.heads), out);
  set_list("attention.head_count_kv", std::move(kv_heads), config.path_of(keys.kv_heads), out);
  set_list("feed_forward_length", TRY(read_ff_widths(config, keys, n_layers, width)),
           config.path_of(keys.ff_factors), out);
  const std::string_view dim = out.hf().sizes.head_dim;
  const int64_t head_dim = TRY(config.positive_or(dim, out.hf().head_dim));
  out.set("attention.key_length", head_dim, config.path_of(dim));
  out.set("attention.value_length", head_dim, config.path_of(dim));
  return head_dim;
}

}  // namespace ruv
