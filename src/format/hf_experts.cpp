// Keys of classes whose layers have experts.
#include <algorithm>

#include "family/word_list.h"
#include "format/hf_values.h"

namespace ruv {
namespace {

// Widths and counts are multiplied; each is below 2^31.
constexpr int64_t kMaxSharedWidth = INT32_MAX;

// The first of the names that the config has; the first of all where it has none. Empty for no
// names.
std::string_view name_in(const Members& config, std::string_view names) {
  const std::vector<std::string_view> all = words_of(names);
  const auto found =
      std::ranges::find_if(all, [&](std::string_view name) { return config.has(name); });
  if (found != all.end()) return *found;
  return all.empty() ? std::string_view() : all.front();
}

// An array of numbers counts as one where all are the same.
Result<int64_t> number_of(const Members& config, std::string_view name, bool by_layer) {
  const Json& value = *config.find(name);
  if (!by_layer || !value.is_array()) return config.integer(name);
  const auto is_same = [&](const Json& one) {
    return one.is_number_integer() && one.get<int64_t>() == value.front().get<int64_t>();
  };
  if (value.empty() || !std::ranges::all_of(value, is_same)) {
    return config.wrong(name, "is not the same integer for all layers", Code::unsupported);
  }
  const auto number = value.front().get<int64_t>();
  if (number < 0 || number > INT32_MAX) {
    return config.wrong(name, "is not in the range 0 to 2^31 - 1");
  }
  return number;
}

// From 0 on.
Result<int64_t> read_count(const Members& config, const HfCount& count) {
  const std::string_view first = name_in(config, count.names);
  if (first.empty() || !config.has(first)) return count.otherwise;
  const int64_t number = TRY(number_of(config, first, count.by_layer));
  for (const std::string_view other : words_of(count.names)) {
    if (!config.has(other) || TRY(number_of(config, other, count.by_layer)) == number) continue;
    return config.wrong(other, fmt::format("differs from {}", first));
  }
  return number;
}

// Numbers that a model cannot do without.
Result<int64_t> read_positive(const Members& config, const HfCount& count) {
  const int64_t number = TRY(read_count(config, count));
  if (number > 0) return number;
  const std::string_view name = name_in(config, count.names);
  return config.wrong(name, config.has(name) ? "is 0" : "is missing");
}

// Numbers of layers; those that no layer has are ignored, as by the classes.
Result<std::vector<bool>> listed_layers(const Members& config, std::string_view name,
                                        int64_t n_layers) {
  const Json& list = *config.find(name);
  const auto is_integer = [](const Json& index) { return index.is_number_integer(); };
  if (!list.is_array() || !std::ranges::all_of(list, is_integer)) {
    return config.wrong(name, "is not an array of integers");
  }
  std::vector<bool> layers;
  for (int64_t i = 0; i < n_layers; ++i) layers.push_back(std::ranges::count(list, i) > 0);
  return layers;
}

// Counted from 1, as the classes do, without those that are named.
Result<std::vector<bool>> layers_by_step(const Members& config, int64_t n_layers) {
  constexpr std::string_view kDense = "mlp_only_layers";
  const int64_t step = TRY(config.positive_or("decoder_sparse_step", 1));
  std::vector<bool> dense(static_cast<size_t>(n_layers), false);
  if (config.is_set(kDense)) dense = TRY(listed_layers(config, kDense, n_layers));
  std::vector<bool> layers;
  for (int64_t i = 0; i < n_layers; ++i) {
    layers.push_back((i + 1) % step == 0 && !dense[static_cast<size_t>(i)]);
  }
  return layers;
}

// The end is a layer of the interval; -1 is the last layer.
Result<std::vector<bool>> layers_in_interval(const Members& config, int64_t n_layers) {
  constexpr std::string_view kEnd = "moe_layer_end_index";
  const int64_t start = config.has("moe_layer_start_index")
                            ? TRY(config.integer("moe_layer_start_index"))
                            : int64_t{1};
  const bool is_open = !config.has(kEnd) || (config.find(kEnd)->is_number_integer() &&
                                             config.find(kEnd)->get<int64_t>() == -1);
  const int64_t end = is_open ? n_layers - 1 : TRY(config.integer(kEnd));
  const int64_t step = TRY(config.positive_or("moe_layer_interval", 1));
  std::vector<bool> layers;
  for (int64_t i = 0; i < n_layers; ++i) {
    layers.push_back((i + 1) % step == 0 && i >= start && i <= end);
  }
  return layers;
}

// A kind for each layer.
Result<std::vector<bool>> layers_of_types(const Members& config, int64_t n_layers) {
  constexpr std::string_view kTypes = "mlp_layer_types";
  const Json& types = *config.find(kTypes);
  const auto is_known = [](const Json& type) { return type == "dense" || type == "sparse"; };
  if (!types.is_array() || std::cmp_not_equal(types.size(), n_layers) ||
      !std::ranges::all_of(types, is_known)) {
    return config.wrong(kTypes, "is not an array with \"dense\" or \"sparse\" for each layer");
  }
  std::vector<bool> layers;
  for (const Json& type : types) layers.push_back(type == "sparse");
  return layers;
}

// Counted from 0.
Result<std::vector<bool>> periodic_layers(const Members& config, int64_t n_layers) {
  const int64_t period = TRY(config.positive_or("expert_layer_period", 2));
  constexpr std::string_view kOffset = "expert_layer_offset";
  const int64_t offset = config.has(kOffset) ? TRY(config.integer(kOffset)) : int64_t{1};
  std::vector<bool> layers;
  for (int64_t i = 0; i < n_layers; ++i) layers.push_back(i % period == offset);
  return layers;
}

Result<std::vector<bool>> interleaved_layers(const Members& config, int64_t n_layers) {
  if (config.is_set("moe_layers")) return listed_layers(config, "moe_layers", n_layers);
  const int64_t step = TRY(config.positive_or("interleave_moe_layer_step", 1));
  std::vector<bool> layers;
  for (int64_t i = 0; i < n_layers; ++i) layers.push_back((i + 1) % step == 0);
  return layers;
}

Result<std::vector<bool>> halves_with_experts(const Members& config) {
  std::vector<bool> layers;
  for (const HfHalf half : TRY(read_hf_halves(config))) layers.push_back(half == HfHalf::experts);
  return layers;
}

}  // namespace

Result<std::vector<bool>> read_hf_expert_layers(const Members& config, int64_t n_layers,
                                                const HfExperts& experts) {
  switch (experts.layers) {
    case HfExpertLayers::halves:
      return halves_with_experts(config);
    case HfExpertLayers::by_step:
      return layers_by_step(config, n_layers);
    case HfExpertLayers::interval:
      return layers_in_interval(config, n_layers);
    case HfExpertLayers::periodic:
      return periodic_layers(config, n_layers);
    case HfExpertLayers::interleaved:
      return interleaved_layers(config, n_layers);
    case HfExpertLayers::types:
      if (config.is_set("mlp_layer_types")) return layers_of_types(config, n_layers);
      break;
    case HfExpertLayers::all:
    case HfExpertLayers::after_first:
      break;
  }
  int64_t n_dense = experts.first_dense.otherwise;
  if (!experts.first_dense.names.empty()) n_dense = TRY(read_count(config, experts.first_dense));
  std::vector<bool> layers;
  for (int64_t i = 0; i < n_layers; ++i) layers.push_back(i >= n_dense);
  return layers;
}

namespace {

// Reads what HfExperts names and writes GGUF's keys for it, those of llama.cpp where it has any.
class ExpertReader {
 public:
  ExpertReader(const Members& config, int64_t n_layers, HfValues& out)
      : config_(config), experts_(out.hf().experts), n_layers_(n_layers), out_(out) {}

  Status read() {
    const int64_t n = TRY(read_positive(config_, experts_.count));
    out_.set("expert_count", n, path_of(experts_.count));
    out_.set("expert_used_count", TRY(read_positive(config_, experts_.used)),
             path_of(experts_.used));
    TRY(read_width());
    TRY(read_layers());
    TRY(read_weights());
    TRY(read_choice());
    return read_shared();
  }

 private:
  std::string path_of(const HfCount& count) const {
    return config_.path_of(name_in(config_, count.names));
  }

  Status read_width() {
    const HfCount usual{.names = "intermediate_size"};
    const HfCount& width = experts_.width.names.empty() ? usual : experts_.width;
    width_ = TRY(read_positive(config_, width));
    out_.set("expert_feed_forward_length", width_, path_of(width));
    const std::string_view latent = experts_.latent_key;
    if (!config_.is_set(latent)) return {};
    out_.set("moe_latent_size", TRY(config_.positive(latent)), config_.path_of(latent));
    return {};
  }

  // GGUF files say how many dense layers are first; which have experts, their tensors say.
  Status read_layers() {
    auto layers = std::make_shared<MetaArray>();
    layers->bools = TRY(read_hf_expert_layers(config_, n_layers_, experts_));
    const auto n_dense = std::ranges::find(layers->bools, true) - layers->bools.begin();
    const bool is_open = experts_.layers != HfExpertLayers::all &&
                         experts_.layers != HfExpertLayers::by_step &&
                         experts_.layers != HfExpertLayers::halves;
    if (is_open) {
      out_.set("leading_dense_block_count", int64_t{n_dense}, path_of(experts_.count));
    }
    out_.set("expert_layers", std::shared_ptr<const MetaArray>(layers), path_of(experts_.count));
    return {};
  }

  Status read_weights() {
    bool normalises = experts_.normalises;
    const std::string_view key = name_in(config_, experts_.normalises_key);
    if (!key.empty()) normalises = TRY(config_.truth(key)).value_or(normalises);
    for (const std::string_view other : words_of(experts_.normalises_key)) {
      if (TRY(config_.truth(other)).value_or(normalises) == normalises) continue;
      return config_.wrong(other, fmt::format("differs from {}", key), Code::unsupported);
    }
    const std::string_view order = experts_.norm_order_key;
    if (!order.empty() && config_.has(order)) {
      normalises = config_.is_set(order);
      if (normalises && TRY(config_.number(order)).value_or(0) != 1) {
        return config_.wrong(order, "is neither 1 nor null", Code::unsupported);
      }
    }
    out_.set("expert_weights_norm", normalises, config_.path_of(key));
    if (!experts_.scale_key.empty()) {
      const double scale = TRY(config_.number(experts_.scale_key)).value_or(experts_.scale);
      if (scale == 0) return config_.wrong(experts_.scale_key, "is 0");
      out_.set("expert_weights_scale", scale, config_.path_of(experts_.scale_key));
    }
    if (!experts_.jitter_key.empty()) {
      const double jitter = TRY(config_.number(experts_.jitter_key)).value_or(experts_.jitter);
      out_.set("expert_closeness", 2 * jitter, config_.path_of(experts_.jitter_key));
    }
    TRY(read_gate_limit());
    if (experts_.least_sum_key.empty()) return {};
    out_.set("expert_weights_least_sum",
             TRY(config_.number(experts_.least_sum_key)).value_or(experts_.least_sum),
             config_.path_of(experts_.least_sum_key));
    return {};
  }

  // What they are chosen by: the kind of score, a bias, groups.
  Status read_choice() {
    bool biased = experts_.choice_bias;
    if (!experts_.choice_bias_key.empty()) {
      biased = TRY(config_.truth(experts_.choice_bias_key)).value_or(biased);
    }
    out_.set("expert_choice_bias", biased, config_.path_of(experts_.choice_bias_key));
    RouterScore score = experts_.sigmoid ? RouterScore::sigmoid : out_.family().experts.score;
    if (!experts_.score_key.empty()) {
      const std::string name = TRY(config_.text_or(experts_.score_key, "softmax"));
      if (name != "softmax" && name != "sigmoid") {
        return config_.wrong(experts_.score_key, "is neither softmax nor sigmoid",
                             Code::unsupported);
      }
      score = name == "softmax" ? RouterScore::softmax : RouterScore::sigmoid;
    }
    if (score != RouterScore::sparsemixer) {
      const int64_t softmax = experts_.chosen_softmax ? 3 : 1;
      out_.set("expert_gating_func", score == RouterScore::sigmoid ? 2 : softmax,
               config_.path_of(experts_.score_key));
    }
    if (experts_.groups.names.empty() || !TRY(has_groups())) return {};
    out_.set("expert_group_count", TRY(read_positive(config_, experts_.groups)),
             path_of(experts_.groups));
    out_.set("expert_group_used_count", TRY(read_positive(config_, experts_.groups_used)),
             path_of(experts_.groups_used));
    return {};
  }

  Status read_gate_limit() {
    const std::string_view key = experts_.gate_limit_key;
    if (key.empty()) return {};
    const double limit = TRY(config_.number(key)).value_or(experts_.gate_limit);
    if (!(limit > 0)) return config_.wrong(key, "is not above 0");
    out_.set("expert_gate_limit", limit, config_.path_of(key));
    return {};
  }

  Result<bool> has_groups() const {
    const std::string_view key = experts_.groups_method_key;
    if (key.empty()) return true;
    const std::string method = TRY(config_.text_or(key, "greedy"));
    if (method == "greedy" || method == "group_limited_greedy") return method != "greedy";
    return tl::unexpected<Status>(
        config_.wrong(key, "is neither greedy nor group_limited_greedy", Code::unsupported));
  }

  // Several that all rows share are one that is as wide as all of them.
  Status read_shared() {
    int64_t width = 0;
    const HfCount& count = experts_.shared_count;
    const HfCount& shared = count.names.empty() ? experts_.shared_width : count;
    if (shared.names.empty()) return {};
    if (count.names.empty()) {
      width = TRY(experts_.always_shared ? read_positive(config_, experts_.shared_width)
                                         : read_count(config_, experts_.shared_width));
    } else {
      const int64_t n = TRY(read_count(config_, count));
      if (n > kMaxSharedWidth / width_) {
        return config_.wrong(name_in(config_, count.names), "is out of range");
      }
      out_.set("expert_shared_count", n, path_of(count));
      width = n * width_;
    }
    out_.set("expert_shared_feed_forward_length", width, path_of(shared));
    const std::string_view again = experts_.shared_width_again;
    if (config_.is_set(again) && TRY(config_.positive(again)) != width_) {
      return config_.wrong(again, fmt::format("is not the {} of other experts", width_),
                           Code::unsupported);
    }
    return read_combination();
  }

  Status read_combination() {
    const std::string_view key = experts_.combines_key;
    if (key.empty()) return {};
    const std::string name = TRY(config_.text_or(key, "average"));
    if (name != "average" && name != "sum") {
      return config_.wrong(key, "is neither average nor sum", Code::unsupported);
    }
    out_.set("expert_shared_average", name == "average", config_.path_of(key));
    return {};
  }

  const Members& config_;
  const HfExperts& experts_;
  int64_t n_layers_;
  HfValues& out_;
  int64_t width_ = 0;
};

}  // namespace

Status read_hf_experts(const Members& config, int64_t n_layers, HfValues& out) {
  const HfExperts& experts = out.hf().experts;
  if (experts.count.names.empty()) return {};
  if (!experts.enabled_key.empty() && !TRY(config.truth(experts.enabled_key)).value_or(false)) {
    return {};
  }
  if (experts.layers == HfExpertLayers::halves) {
    if (std::ranges::count(TRY(halves_with_experts(config)), true) == 0) return {};
  }
  if (experts.fewest > 0 && TRY(read_count(config, experts.count)) < experts.fewest) return {};
  return ExpertReader(config, n_layers, out).read();
}

}  // namespace ruv
