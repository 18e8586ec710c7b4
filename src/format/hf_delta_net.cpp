// Keys of classes whose layers are attention or linear attention by the gated delta rule.
#include <algorithm>

#include "family/word_list.h"
#include "format/hf_values.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr int64_t kMostOfAHead = 1024;
constexpr std::string_view kLayerTypes = "layer_types", kInterval = "full_attention_interval";

Result<std::vector<bool>> attending_layers(const Members& config, int64_t n_layers) {
  std::vector<bool> attends;
  if (!config.is_set(kLayerTypes)) {
    const int64_t interval = TRY(config.positive_or(kInterval, 4));
    for (int64_t i = 0; i < n_layers; ++i) attends.push_back((i + 1) % interval == 0);
    return attends;
  }
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

Status read_hf_delta_net(const Members& config, int64_t n_layers, int64_t n_kv_heads,
                         HfValues& out) {
  set_layers(config, TRY(attending_layers(config, n_layers)), n_kv_heads, out);
  struct Row {
    std::string_view key, name;
    int64_t otherwise;
  };
  constexpr std::string_view kValueDim = "linear_value_head_dim";
  constexpr Row kRows[] = {{"ssm.conv_kernel", "linear_conv_kernel_dim", 4},
                           {"ssm.group_count", "linear_num_key_heads", 16},
                           {"ssm.time_step_rank", "linear_num_value_heads", 32},
                           {"ssm.state_size", "linear_key_head_dim", 128},
                           {"ssm.inner_size", kValueDim, 128}};
  int64_t n_value_heads = 0;
  for (const Row& row : kRows) {
    int64_t number = TRY(config.positive_or(row.name, row.otherwise));
    if (number > kMostOfAHead && row.key == "ssm.conv_kernel") {
      return config.wrong(row.name, "is above 1024");
    }
    if (row.key == "ssm.time_step_rank") n_value_heads = number;
    if (row.name == kValueDim) {
      if (number > kMostOfAHead || n_value_heads > INT32_MAX) {
        return config.wrong(row.name, "makes values out of range");
      }
      number *= n_value_heads;
    }
    out.set(row.key, number, config.path_of(row.name));
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
