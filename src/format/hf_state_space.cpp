// Keys of classes whose layers are selective scans, alone, in turn with attention or beside it.
// What GGUF files call the rank of steps is the number of heads where steps are those of heads.
#include <algorithm>
#include <cmath>

#include "family/config_keys.h"
#include "family/word_list.h"
#include "format/hf_values.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr int64_t kMostInner = int64_t{1} << 24;

// The numbers of the layers with attention, which a config may have besides their kinds.
Status check_numbers(const Members& config, const std::vector<bool>& attends) {
  constexpr std::string_view kNumbers = "hybrid_layer_ids";
  if (!config.is_set(kNumbers)) return {};
  Json numbers = Json::array();
  for (size_t i = 0; i < attends.size(); ++i) {
    if (attends[i]) numbers.push_back(static_cast<int64_t>(i));
  }
  if (*config.find(kNumbers) == numbers) return {};
  return config.wrong(kNumbers, "does not follow from the kinds of layers", Code::unsupported);
}

// Which layers have attention, by the kinds of all layers or by the numbers of these.
Result<std::vector<bool>> attending_layers(const Members& config, const HfStateSpace& keys,
                                           int64_t n_layers) {
  constexpr std::string_view kIndices = "attn_layer_indices";
  std::vector<bool> attends(static_cast<size_t>(n_layers), false);
  if (keys.layers == HfStateLayers::attention && config.is_set(kIndices)) {
    const Json& list = *config.find(kIndices);
    const auto is_integer = [](const Json& one) { return one.is_number_integer(); };
    if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_integer)) {
      return config.wrong(kIndices, "is not an array of integers");
    }
    for (int64_t i = 0; i < n_layers; ++i) {
      attends[static_cast<size_t>(i)] = std::ranges::count(list, i) > 0;
    }
  }
  if (keys.layers == HfStateLayers::periodic) {
    constexpr std::string_view kOffset = "attn_layer_offset";
    const int64_t period = TRY(config.positive_or("attn_layer_period", 8));
    const int64_t offset = config.has(kOffset) ? TRY(config.integer(kOffset)) : int64_t{4};
    if (offset >= period) return config.wrong(kOffset, "is not below the period");
    for (int64_t i = 0; i < n_layers; ++i) attends[static_cast<size_t>(i)] = i % period == offset;
  }
  const bool shares = keys.layers == HfStateLayers::shared;
  if (keys.layers != HfStateLayers::types && !shares) return attends;
  const std::string_view key = config.has("layer_types") ? "layer_types" : "layers_block_type";
  if (!config.is_set(key) && shares) return config.wrong(key, "is missing", Code::unsupported);
  if (!config.is_set(key)) return attends;
  const Json& types = *config.find(key);
  if (!types.is_array() || std::cmp_not_equal(types.size(), n_layers)) {
    return config.wrong(key, "is not an array with one text for each layer");
  }
  attends.clear();
  const std::string_view attention = shares ? "hybrid" : hf_attention_kinds();
  for (const Json& type : types) {
    const std::string kind = type.is_string() ? type.get<std::string>() : std::string();
    const bool is_attention = is_word_of(attention, kind);
    if (!is_attention && !is_word_of(hf_scan_kinds(), kind)) {
      return config.wrong(key,
                          fmt::format("has the kind {}; {} and {} are supported in this family",
                                      quoted_name(type.dump()), hf_scan_kinds(), attention),
                          Code::unsupported);
    }
    attends.push_back(is_attention);
  }
  if (shares) TRY(check_numbers(config, attends));
  return attends;
}

// A text for each layer.
Result<std::vector<HfHalf>> halves_of_types(const Members& config, std::string_view key) {
  std::vector<HfHalf> halves;
  const Json& types = *config.find(key);
  if (!types.is_array() || types.empty() || types.size() > 65536) {
    return config.wrong(key, "is not an array of texts");
  }
  for (const Json& type : types) {
    const std::string kind = type.is_string() ? type.get<std::string>() : std::string();
    const bool scans = is_word_of(hf_scan_kinds(), kind);
    const bool attends = is_word_of(hf_attention_kinds(), kind);
    if (!scans && !attends && kind != "mlp" && kind != "moe") {
      return config.wrong(
          key,
          fmt::format("has the kind {}; {}, {}, mlp and moe are supported in this "
                      "family",
                      quoted_name(type.dump()), hf_scan_kinds(), hf_attention_kinds()),
          Code::unsupported);
    }
    halves.push_back(scans           ? HfHalf::scan
                     : attends       ? HfHalf::attention
                     : kind == "moe" ? HfHalf::experts
                                     : HfHalf::feed_forward);
  }
  return halves;
}

// A finite number, or infinity as transformers writes it; nothing for anything else.
std::optional<double> limit_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const Json* const tagged = value.is_object() ? value.find("__float__") : nullptr;
  if (tagged == nullptr) return std::nullopt;
  if (*tagged == "Infinity") return HUGE_VAL;
  if (*tagged == "-Infinity") return -HUGE_VAL;
  return std::nullopt;
}

// Reads what HfStateSpace names and writes GGUF's keys for it, those of llama.cpp where it has any.
class StateSpaceReader {
 public:
  StateSpaceReader(const Members& config, int64_t width, HfValues& out)
      : config_(config), keys_(out.hf().state_space), width_(width), out_(out) {}

  Status read() {
    TRY(read_inner());
    const int64_t n_taps = TRY(config_.positive_or(keys_.taps.name, keys_.taps.otherwise));
    if (n_taps > 1024) return config_.wrong(keys_.taps.name, "is above 1024");
    out_.set("ssm.conv_kernel", n_taps, config_.path_of(keys_.taps.name));
    TRY(set_size("ssm.state_size", keys_.state));
    TRY(keys_.heads.name.empty() ? read_columns() : read_heads());
    TRY(read_truth("ssm_bias", keys_.bias, false));
    TRY(read_truth("ssm_out_bias", keys_.out_bias.empty() ? keys_.bias : keys_.out_bias, false));
    TRY(read_truth("conv_bias", keys_.conv_bias, true));
    if (keys_.limits_steps) TRY(read_limits());
    if (!keys_.least_step.empty()) TRY(read_least_step());
    if (keys_.act.empty()) return {};
    out_.set("ssm.hidden_act", TRY(config_.text_or(keys_.act, "silu")), config_.path_of(keys_.act));
    return {};
  }

 private:
  Status set_size(std::string_view key, const HfNumber& number) {
    const int64_t value = TRY(config_.positive_or(number.name, number.otherwise));
    out_.set(key, value, config_.path_of(number.name));
    return {};
  }

  Status read_truth(std::string_view key, std::string_view name, bool absent) {
    out_.set(key, TRY(config_.truth(name)).value_or(absent), config_.path_of(name));
    return {};
  }

  // By a key of its own, or as many times the stream's width.
  Status read_inner() {
    const HfNumber& own = keys_.inner;
    const bool is_absent = own.otherwise == 0 && !config_.has(own.name);
    const bool is_null = config_.has(own.name) && !config_.is_set(own.name);
    std::string_view name = own.name;
    if (own.name.empty() && keys_.expand.name.empty()) {
      name = keys_.head_dim.name;
      inner_ = TRY(config_.positive_or(keys_.heads.name, keys_.heads.otherwise)) *
               TRY(config_.positive_or(name, keys_.head_dim.otherwise));
    } else if (own.name.empty() || is_absent || is_null) {
      name = keys_.expand.name;
      inner_ = width_ * TRY(config_.positive_or(name, keys_.expand.otherwise));
    } else {
      inner_ = TRY(config_.positive_or(name, own.otherwise));
    }
    if (inner_ > kMostInner) return config_.wrong(name, "makes more than 2^24 columns");
    out_.set("ssm.inner_size", inner_, config_.path_of(name));
    return {};
  }

  // Steps are made of a row as wide as the rank.
  Status read_columns() {
    const Json* const rank = config_.find(keys_.rank);
    const bool is_auto = rank == nullptr || *rank == "auto";
    const int64_t n = is_auto ? (width_ + 15) / 16 : TRY(config_.positive(keys_.rank));
    out_.set("ssm.time_step_rank", n, config_.path_of(keys_.rank));
    if (keys_.input_eps.empty()) return {};
    const double eps = TRY(config_.number(keys_.input_eps)).value_or(keys_.input_eps_default);
    if (!(eps >= 0)) return config_.wrong(keys_.input_eps, "is below 0");
    out_.set("ssm.dt_b_c_rms", true, config_.path_of(keys_.input_eps));
    out_.set("ssm.dt_b_c_rms_epsilon", eps, config_.path_of(keys_.input_eps));
    return {};
  }

  // Heads and their width must make the inner one, which may leave the width to follow.
  Status read_heads() {
    const std::string_view heads = keys_.heads.name, dim = keys_.head_dim.name;
    const int64_t n_heads = TRY(config_.positive_or(heads, keys_.heads.otherwise));
    out_.set("ssm.time_step_rank", n_heads, config_.path_of(heads));
    if (inner_ % n_heads != 0) {
      return config_.wrong(heads, fmt::format("does not divide {} columns", inner_));
    }
    const Json* const own = config_.find(dim);
    const bool is_auto = keys_.head_dim.otherwise == 0 && (own == nullptr || *own == "auto");
    const int64_t head_dim =
        is_auto ? inner_ / n_heads : TRY(config_.positive_or(dim, keys_.head_dim.otherwise));
    if (head_dim != inner_ / n_heads) {
      return config_.wrong(dim,
                           fmt::format("does not make {} columns of {} heads", inner_, n_heads));
    }
    TRY(set_size("ssm.group_count", keys_.groups));
    const bool normalises = TRY(config_.truth(keys_.norm)).value_or(keys_.norm.empty());
    out_.set("ssm.norm", normalises, config_.path_of(keys_.norm));
    const bool is_first = normalises && !keys_.norm_first.empty();
    const bool said = TRY(config_.truth(keys_.norm_first)).value_or(true);
    if (is_first && said) {
      out_.set("ssm.norm_before_gate", true, config_.path_of(keys_.norm_first));
    }
    return keys_.multipliers ? read_multipliers() : Status();
  }

  // Nothing where no step is limited.
  Status read_limits() {
    constexpr std::string_view kLimits = "time_step_limit";
    if (!config_.has(kLimits)) return {};
    const Json& pair = *config_.find(kLimits);
    auto limits = std::make_shared<MetaArray>();
    if (pair.is_array() && pair.size() == 2) {
      for (const Json& one : pair) {
        if (const std::optional<double> limit = limit_of(one)) limits->numbers.push_back(*limit);
      }
    }
    if (limits->numbers.size() != 2) {
      return config_.wrong(kLimits, "is not an array of two numbers");
    }
    if (limits->numbers[0] <= 0 && limits->numbers[1] == HUGE_VAL) return {};
    if (!(limits->numbers[0] <= limits->numbers[1])) {
      return config_.wrong(kLimits, "has a lower limit above the upper one");
    }
    out_.set("ssm.time_step_limit", std::shared_ptr<const MetaArray>(limits),
             config_.path_of(kLimits));
    return {};
  }

  Status read_least_step() {
    const double least = TRY(config_.number(keys_.least_step)).value_or(0.001);
    if (least <= 0) return {};
    auto limits = std::make_shared<MetaArray>();
    limits->numbers = {least, HUGE_VAL};
    out_.set("ssm.time_step_limit", std::shared_ptr<const MetaArray>(limits),
             config_.path_of(keys_.least_step));
    return {};
  }

  // Absent: 1. Zero is a number as any other here.
  Result<double> multiplier(std::string_view name) const {
    return TRY(config_.number(name)).value_or(1);
  }
  // Absent or null: n times 1.
  Status add_multipliers(std::string_view name, size_t n, std::vector<double>& to) const {
    if (!config_.is_set(name)) {
      to.insert(to.end(), n, 1.0);
      return {};
    }
    const Json& list = *config_.find(name);
    const auto is_number = [](const Json& one) {
      return one.is_number() && std::isfinite(one.get<double>());
    };
    if (!list.is_array() || list.size() != n || !std::all_of(list.begin(), list.end(), is_number)) {
      return config_.wrong(name, fmt::format("is not an array of {} numbers", n));
    }
    for (const Json& one : list) to.push_back(one.get<double>());
    return {};
  }
  void set_scales(std::string_view key, std::vector<double> scales, std::string_view name) {
    auto array = std::make_shared<MetaArray>();
    array->numbers = std::move(scales);
    out_.set(key, std::shared_ptr<const MetaArray>(array), config_.path_of(name));
  }

  Status read_multipliers() {
    constexpr std::string_view kParts = "ssm_multipliers", kMlp = "mlp_multipliers";
    constexpr std::string_view kIn = "attention_in_multiplier";
    std::vector<double> scan = {TRY(multiplier("ssm_in_multiplier")),
                                TRY(multiplier("ssm_out_multiplier"))};
    TRY(add_multipliers(kParts, 5, scan));
    set_scales("ssm.scales", std::move(scan), kParts);
    set_scales("attention.scales",
               {TRY(multiplier(kIn)), TRY(multiplier("attention_out_multiplier"))}, kIn);
    constexpr std::string_view kKeys = "key_multiplier";
    out_.set("attention.key_scale", TRY(multiplier(kKeys)), config_.path_of(kKeys));
    std::vector<double> mlp;
    TRY(add_multipliers(kMlp, 2, mlp));
    set_scales("feed_forward.scales", std::move(mlp), kMlp);
    return {};
  }

  const Members& config_;
  const HfStateSpace& keys_;
  int64_t width_;
  HfValues& out_;
  int64_t inner_ = 0;
};

}  // namespace

Result<std::vector<HfHalf>> read_hf_halves(const Members& config) {
  constexpr std::string_view kPattern = "hybrid_override_pattern";
  for (const std::string_view key : {"layer_types", "layers_block_type"}) {
    if (config.is_set(key)) return halves_of_types(config, key);
  }
  std::vector<HfHalf> halves = {HfHalf::scan, HfHalf::experts, HfHalf::attention,
                                HfHalf::feed_forward};
  if (!config.has(kPattern)) return halves;  // the class's own default
  halves.clear();
  const std::string pattern = TRY(config.text_or(kPattern, ""));
  if (pattern.empty() || pattern.size() > 65536) {
    return config.wrong(kPattern, "is not a text with a letter for each layer");
  }
  for (const char letter : pattern) {
    if (letter != 'M' && letter != '*' && letter != '-' && letter != 'E') {
      return config.wrong(kPattern,
                          fmt::format("has '{}'; M (a scan), * (attention), - (a feed-forward) "
                                      "and E (experts) are supported",
                                      quoted_name(std::string_view(&letter, 1))),
                          Code::unsupported);
    }
    halves.push_back(letter == 'M'   ? HfHalf::scan
                     : letter == '*' ? HfHalf::attention
                     : letter == 'E' ? HfHalf::experts
                                     : HfHalf::feed_forward);
  }
  return halves;
}

Status read_hf_state_space(const Members& config, const HfLayers& layers, int64_t width,
                           HfValues& out) {
  const HfStateSpace& keys = out.hf().state_space;
  if (keys.layers == HfStateLayers::halves) {
    auto heads = std::make_shared<MetaArray>();
    for (const HfHalf half : TRY(read_hf_halves(config))) {
      heads->integers.push_back(half == HfHalf::attention ? layers.n_kv_heads : 0);
    }
    out.set("attention.head_count_kv", std::shared_ptr<const MetaArray>(heads),
            config.path_of("num_key_value_heads"));
  } else if (out.family().block.mixers == Mixers::state_or_attention) {
    auto counts = std::make_shared<MetaArray>();
    for (const bool attends : TRY(attending_layers(config, keys, layers.n))) {
      counts->integers.push_back(attends ? layers.n_kv_heads : 0);
    }
    out.set(
        "attention.head_count_kv", std::shared_ptr<const MetaArray>(counts),
        config.path_of(keys.layers == HfStateLayers::types || keys.layers == HfStateLayers::shared
                           ? "layer_types"
                           : "attn_layer_indices"));
  }
  return StateSpaceReader(config, width, out).read();
}

}  // namespace ruv
