// Keys of classes whose layers are attention or linear attention by the gated delta rule.
#include <algorithm>

#include "family/word_list.h"
#include "format/hf_values.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr int64_t kMostOfAHead = 1024;
constexpr std::string_view kLayerTypes = "layer_types", kInterval = "full_attention_interval";

Result<std::vector<bool>> attending_layers(const Members& config, int64_t n_layers,
                                           bool at_least_one) {
  if (!config.is_set(kLayerTypes)) {
    std::vector<bool> attends;
    const int64_t interval = at_least_one ? 4 : TRY(config.positive_or(kInterval, 4));
    for (int64_t i = 0; i < n_layers; ++i) attends.push_back((i + 1) % interval == 0);
    if (at_least_one && std::ranges::count(attends, true) == 0) attends.back() = true;
    return attends;
  }
  return read_hf_attending_layers(config, n_layers);
}

// An interval where there is one, as GGUF files have it, else a count of 0 key heads for each layer
// without attention.
void set_layers(const Members& config, const std::vector<bool>& attends, int64_t n_kv_heads,
                HfValues& out) {
  const auto first = std::ranges::find(attends, true) - attends.begin();
  const int64_t interval = first + 1;
  bool is_regular = true;
  auto counts = std::make_shared<MetaArray>();
  for (int64_t i = 0; i < std::ssize(attends); ++i) {
    const bool has_heads = attends[static_cast<size_t>(i)];
    is_regular &= has_heads == ((i + 1) % interval == 0);
    counts->integers.push_back(has_heads ? n_kv_heads : 0);
  }
  const std::string name = config.path_of(config.is_set(kLayerTypes) ? kLayerTypes : kInterval);
  if (is_regular) return out.set("full_attention_interval", interval, name);
  out.set("attention.head_count_kv", std::shared_ptr<const MetaArray>(counts), name);
}

}  // namespace

Result<std::vector<bool>> read_hf_attending_layers(const Members& config, int64_t n_layers) {
  std::vector<bool> attends;
  const Json& types = *config.find(kLayerTypes);
  if (!types.is_array() || std::cmp_not_equal(types.size(), n_layers)) {
    return config.wrong(kLayerTypes, "is not an array with one text for each layer");
  }
  for (const Json& type : types) {
    if (type != "linear_attention" && type != "full_attention") {
      return config.wrong(kLayerTypes,
                          fmt::format("has the kind {}; linear_attention and full_attention are "
                                      "supported in this family",
                                      quoted_name(type.dump())),
                          Code::unsupported);
    }
    attends.push_back(type == "full_attention");
  }
  return attends;
}

Status read_hf_delta_net(const Members& config, const HfLayers& layers, int64_t width,
                         HfValues& out) {
  const bool by_heads = out.hf().linear_by_heads;
  set_layers(config, TRY(attending_layers(config, layers.n, by_heads)), layers.n_kv_heads, out);
  constexpr std::string_view kKeys = "linear_num_key_heads", kValues = "linear_num_value_heads";
  constexpr std::string_view kKeyDim = "linear_key_head_dim", kValueDim = "linear_value_head_dim";
  constexpr std::string_view kTaps = "linear_conv_kernel_dim";
  const auto read = [&](std::string_view key, int64_t otherwise) -> Result<int64_t> {
    if (by_heads && !config.is_set(key)) return otherwise;
    const int64_t number = TRY(config.positive_or(key, otherwise));
    if (number <= INT32_MAX) return number;
    return config.wrong(key, "is out of range");
  };
  const int64_t n_taps = TRY(read(kTaps, 4));
  if (n_taps > kMostOfAHead) return config.wrong(kTaps, "is above 1024");
  const int64_t n_keys = TRY(read(kKeys, by_heads ? layers.n_heads : 16));
  const int64_t n_values = TRY(read(kValues, by_heads ? layers.n_heads : 32));
  const int64_t key_dim = TRY(read(kKeyDim, by_heads ? 3 * width / (4 * n_keys) : 128));
  const int64_t value_dim = TRY(read(kValueDim, by_heads ? 2 * key_dim : 128));
  if (key_dim < 1 || value_dim < 1 || value_dim > kMostOfAHead) {
    return config.wrong(kValueDim, "makes heads out of range");
  }
  out.set("ssm.conv_kernel", n_taps, config.path_of(kTaps));
  out.set("ssm.group_count", n_keys, config.path_of(kKeys));
  out.set("ssm.time_step_rank", n_values, config.path_of(kValues));
  out.set("ssm.state_size", key_dim, config.path_of(kKeyDim));
  out.set("ssm.inner_size", n_values * value_dim, config.path_of(kValueDim));
  if (by_heads) {
    constexpr std::string_view kNegative = "linear_allow_neg_eigval";
    const bool wide = TRY(config.truth(kNegative)).value_or(true);
    out.set("ssm.beta_scale", wide ? 2.0 : 1.0, config.path_of(kNegative));
  }
  if (!is_word_of(out.family().gguf_keys, "rope.dimension_sections")) return {};
  // The parts of a head that turn by an image's time, line and column: for text they are alike, but
  // other readers of GGUF files ask for them.
  auto sections = std::make_shared<MetaArray>();
  sections->integers = {11, 11, 10, 0};
  out.set("rope.dimension_sections", std::shared_ptr<const MetaArray>(sections), "");
  return {};
}

}  // namespace ruv
