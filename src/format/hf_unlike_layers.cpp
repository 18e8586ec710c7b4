// Keys of classes whose layers differ in heads, widths and what they keep. Layers without a window
// have heads of their own, by keys for all of them or by an object with the exceptions of each
// layer (per_layer_config), which transformers 5 writes.
#include <algorithm>
#include <charconv>

#include "format/hf_values.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr std::string_view kExceptions = "per_layer_config";

struct Heads {
  int64_t dim = 0, n_kv = 0;

  bool operator==(const Heads&) const = default;
};

class UnlikeReader {
 public:
  UnlikeReader(const Members& config, const HfUsualLayer& usual, HfValues& out)
      : config_(config), usual_(usual), out_(out) {}

  Result<int64_t> read() {
    if (out_.hf().global_head_dim == 0) return read_alike();
    // Only rope_parameters says what positions are.
    for (const std::string_view name : {"rope_scaling", "rope_theta"}) {
      if (!config_.is_set(name)) continue;
      out_.refuse(
          config_.wrong(name, "is not read by this model class", Code::unsupported).value());
    }
    TRY(read_kinds());
    const Heads full = TRY(read_full_heads());
    out_.set("attention.key_length", full.dim, config_.path_of("global_head_dim"));
    out_.set("attention.value_length", full.dim, config_.path_of("global_head_dim"));
    out_.set("attention.key_length_swa", usual_.head_dim, config_.path_of("head_dim"));
    out_.set("attention.value_length_swa", usual_.head_dim, config_.path_of("head_dim"));
    if (full.n_kv != usual_.n_kv_heads) {
      auto counts = std::make_shared<MetaArray>();
      for (const bool w : windowed_) counts->integers.push_back(w ? usual_.n_kv_heads : full.n_kv);
      out_.set("attention.head_count_kv", std::shared_ptr<const MetaArray>(counts),
               config_.path_of("num_key_value_heads"));
    }
    TRY(read_sharing());
    TRY(read_input());
    return full.dim;
  }

 private:
  // Layers that differ in what they keep only.
  Result<int64_t> read_alike() {
    TRY(read_kinds());
    out_.set("attention.values_are_keys", false, std::string());
    TRY(read_sharing());
    TRY(read_input());
    return usual_.head_dim;
  }

  // A list, or the last of each period sees all; where heads differ the last one always does.
  Status read_kinds() {
    constexpr std::string_view kTypes = "layer_types";
    const int64_t period = out_.family().block.window_period;
    for (int64_t i = 0; i < usual_.n_layers; ++i) windowed_.push_back((i + 1) % period != 0);
    if (config_.is_set(kTypes)) {
      const Json& types = *config_.find(kTypes);
      const auto is_kind = [](const Json& type) {
        return type == "sliding_attention" || type == "full_attention";
      };
      if (!types.is_array() || std::cmp_not_equal(types.size(), usual_.n_layers) ||
          !std::all_of(types.begin(), types.end(), is_kind)) {
        return config_.wrong(
            kTypes, "is not an array with sliding_attention or full_attention for each layer");
      }
      std::transform(types.begin(), types.end(), windowed_.begin(),
                     [](const Json& type) { return type == "sliding_attention"; });
    }
    if (out_.hf().global_head_dim > 0) windowed_.back() = false;
    auto pattern = std::make_shared<MetaArray>();
    pattern->bools = windowed_;
    out_.set("attention.sliding_window_pattern", std::shared_ptr<const MetaArray>(pattern),
             config_.path_of(kTypes));
    TRY(config_.positive_or("sliding_window", out_.hf().window));
    return {};
  }

  Result<Heads> read_full_heads() {
    constexpr std::string_view kSame = "attention_k_eq_v", kHeads = "num_global_key_value_heads";
    const bool same = TRY(config_.truth(kSame)).value_or(false);
    out_.set("attention.values_are_keys", same, config_.path_of(kSame));
    if (config_.is_set(kExceptions)) return read_exceptions();
    Heads full{.n_kv = usual_.n_kv_heads};
    full.dim = TRY(config_.positive_or("global_head_dim", out_.hf().global_head_dim));
    if (same && config_.is_set(kHeads)) full.n_kv = TRY(config_.positive(kHeads));
    return full;
  }

  // Those of layer i by its exceptions.
  Result<Heads> heads_of(const Members& exceptions, int64_t i) const {
    const std::string name = std::to_string(i);
    Heads heads{usual_.head_dim, usual_.n_kv_heads};
    if (!exceptions.has(name)) return heads;
    const Members own = TRY(exceptions.object(name));
    for (const auto& [key, value] : own.json().items()) {
      if (key == "head_dim" || key == "num_key_value_heads") continue;
      return own.wrong(key, "is not supported in single layers", Code::unsupported);
    }
    heads.dim = TRY(own.positive_or("head_dim", heads.dim));
    heads.n_kv = TRY(own.positive_or("num_key_value_heads", heads.n_kv));
    return heads;
  }

  // All layers with a window must be alike, and all without.
  Result<Heads> read_exceptions() const {
    const Members exceptions = TRY(config_.object(kExceptions));
    for (const auto& [name, value] : exceptions.json().items()) {
      int64_t layer = -1;
      const auto read = std::from_chars(name.data(), name.data() + name.size(), layer);
      const bool is_number = read.ec == std::errc() && read.ptr == name.data() + name.size();
      if (!is_number || layer < 0 || layer >= usual_.n_layers || std::to_string(layer) != name) {
        return exceptions.wrong(quoted_name(name), "is not the number of a layer");
      }
    }
    const Heads full = TRY(heads_of(exceptions, usual_.n_layers - 1));
    const Heads local{usual_.head_dim, usual_.n_kv_heads};
    for (int64_t i = 0; i < usual_.n_layers; ++i) {
      if (TRY(heads_of(exceptions, i)) == (windowed_[static_cast<size_t>(i)] ? local : full)) {
        continue;
      }
      return config_.wrong(kExceptions,
                           fmt::format("gives layer {} other heads than others of its kind", i),
                           Code::unsupported);
    }
    return full;
  }

  // The last layers that read keys and values of earlier ones, and may have wider feed-forwards.
  Status read_sharing() {
    constexpr std::string_view kSharing = "num_kv_shared_layers", kWide = "use_double_wide_mlp";
    constexpr std::string_view kWidth = "intermediate_size";
    const int64_t n =
        config_.has(kSharing) ? TRY(config_.integer(kSharing)) : out_.hf().sharing_layers;
    out_.set("attention.shared_kv_layers", n, config_.path_of(kSharing));
    if (n >= usual_.n_layers) {
      return config_.wrong(kSharing, "leaves no layer that keeps keys and values",
                           Code::unsupported);
    }
    const auto kept_end = windowed_.end() - n;
    for (const bool kind : windowed_) {
      if (std::find(windowed_.begin(), kept_end, kind) != kept_end) continue;
      return config_.wrong(kSharing, "leaves no layer of a kind that keeps keys and values");
    }
    const bool may_widen = out_.hf().global_head_dim > 0;
    if (n == 0 || !may_widen || !TRY(config_.truth(kWide)).value_or(false)) return {};
    const int64_t width = TRY(config_.positive(kWidth));
    auto widths = std::make_shared<MetaArray>();
    for (int64_t i = 0; i < usual_.n_layers; ++i) {
      widths->integers.push_back(i < usual_.n_layers - n ? width : 2 * width);
    }
    out_.set("feed_forward_length", std::shared_ptr<const MetaArray>(widths),
             config_.path_of(kWide));
    return {};
  }

  Status read_input() {
    constexpr std::string_view kWidth = "hidden_size_per_layer_input";
    if (out_.hf().layer_input == 0) return {};
    const bool is_null = config_.has(kWidth) && !config_.is_set(kWidth);
    const int64_t width = is_null               ? 0
                          : config_.has(kWidth) ? TRY(config_.integer(kWidth))
                                                : out_.hf().layer_input;
    if (width == 0 && out_.hf().streams.n > 0) {
      return config_.wrong(kWidth, "is 0 or null", Code::unsupported);
    }
    out_.set("embedding_length_per_layer_input", width, config_.path_of(kWidth));
    return {};
  }

  const Members& config_;
  HfUsualLayer usual_;
  HfValues& out_;
  std::vector<bool> windowed_;
};

}  // namespace

Result<int64_t> read_hf_unlike_layers(const Members& config, const HfUsualLayer& usual,
                                      HfValues& out) {
  return UnlikeReader(config, usual, out).read();
}

}  // namespace ruv
