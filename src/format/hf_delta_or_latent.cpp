// Keys of classes whose layers are latent attention or linear attention by the gated delta rule
// with a decay of each channel. Published configs keep those of linear attention in an object,
// whose names count before those of the class.
#include <algorithm>

#include "format/hf_values.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr int64_t kMostOfAKdaHead = 1024;
constexpr std::string_view kLinearObject = "linear_attn_config", kKindsOfLayers = "layer_types";
constexpr std::string_view kFullLayers = "full_attn_layers", kKdaLayers = "kda_layers";

// Layers counted from 1.
Result<std::vector<int64_t>> numbers_of(const Members& object, std::string_view key,
                                        int64_t n_layers) {
  const Json& list = *object.find(key);
  std::vector<int64_t> numbers;
  if (!list.is_array()) return object.wrong(key, "is not an array of integers");
  for (const Json& one : list) {
    const int64_t number = one.is_number_integer() ? one.get<int64_t>() : 0;
    if (number < 1 || number > n_layers) {
      return object.wrong(key, "does not hold numbers of layers from 1", Code::unsupported);
    }
    numbers.push_back(number);
  }
  return numbers;
}

// Each layer is in one of two lists.
Result<std::vector<bool>> listed_layers(const Members& object, int64_t n_layers) {
  const std::vector<int64_t> full = TRY(numbers_of(object, kFullLayers, n_layers));
  const std::vector<int64_t> linear = TRY(numbers_of(object, kKdaLayers, n_layers));
  std::vector<bool> attends;
  for (int64_t i = 1; i <= n_layers; ++i) {
    const bool is_full = std::ranges::count(full, i) > 0;
    if (is_full == (std::ranges::count(linear, i) > 0)) {
      return object.wrong(kFullLayers,
                          fmt::format("and {} do not share out layer {}", kKdaLayers, i),
                          Code::unsupported);
    }
    attends.push_back(is_full);
  }
  return attends;
}

Result<std::vector<bool>> attending_layers(const Members& config, const Members& object,
                                           int64_t n_layers) {
  if (config.is_set(kKindsOfLayers)) return read_hf_attending_layers(config, n_layers);
  if (object.has(kFullLayers) && object.has(kKdaLayers)) return listed_layers(object, n_layers);
  std::vector<bool> attends;
  for (int64_t i = 0; i < n_layers; ++i) attends.push_back(i > 0 && i % 4 == 0);
  return attends;
}

// A number of the object, or else of the config itself, up to 1024.
struct KdaSize {
  std::string_view key, in_object, name;
  int64_t otherwise;
};
Status read_size(const Members& config, const Members& object, const KdaSize& size, HfValues& out) {
  const bool is_inner = object.has(size.in_object);
  const Members& from = is_inner ? object : config;
  const std::string_view name = is_inner ? size.in_object : size.name;
  const int64_t number = TRY(from.positive_or(name, size.otherwise));
  if (number > kMostOfAKdaHead) return from.wrong(name, "is above 1024");
  out.set(size.key, number, from.path_of(name));
  return {};
}

}  // namespace

Status read_hf_delta_or_latent(const Members& config, const HfLayers& layers, HfValues& out) {
  const Members object = TRY(config.object(kLinearObject));
  constexpr KdaSize kSizes[] = {
      {"ssm.conv_kernel", "short_conv_kernel_size", "linear_conv_kernel_dim", 4},
      {"ssm.group_count", "num_heads", "linear_num_heads", 32},
      {"kda.head_dim", "head_dim", "linear_head_dim", 128}};
  for (const auto& member : object.json().items()) {
    const std::string_view name = member.key;
    const bool is_size =
        std::ranges::any_of(kSizes, [&](const KdaSize& size) { return size.in_object == name; });
    if (is_size || name == kFullLayers || name == kKdaLayers) continue;
    return object.wrong(name, "is not known", Code::unsupported);
  }
  for (const KdaSize& size : kSizes) TRY(read_size(config, object, size, out));
  auto counts = std::make_shared<MetaArray>();
  for (const bool attends : TRY(attending_layers(config, object, layers.n))) {
    counts->integers.push_back(attends ? layers.n_kv_heads : 0);
  }
  out.set("attention.head_count_kv", std::shared_ptr<const MetaArray>(counts),
          config.path_of(config.is_set(kKindsOfLayers) ? kKindsOfLayers : kLinearObject));
  return {};
}

}  // namespace ruv
