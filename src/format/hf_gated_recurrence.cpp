// Keys of classes whose layers are attention with a window or a gated linear recurrence.
#include "format/hf_values.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr std::string_view kBlocks = "block_types";

// A pattern that is repeated, but not further than the class repeats it.
Result<std::vector<bool>> layers_with_attention(const Members& config, int64_t n_layers) {
  constexpr int64_t kMostRepeats = 100;
  std::vector<bool> pattern = {false, false, true};
  if (config.is_set(kBlocks)) {
    const Json& types = *config.find(kBlocks);
    if (!types.is_array() || types.empty()) {
      return config.wrong(kBlocks, "is not an array of texts");
    }
    pattern.clear();
    for (const Json& type : types) {
      if (type != "recurrent" && type != "attention") {
        return config.wrong(kBlocks,
                            fmt::format("has the kind {}; recurrent and attention are supported",
                                        quoted_name(type.dump())),
                            Code::unsupported);
      }
      pattern.push_back(type == "attention");
    }
  }
  if (n_layers > kMostRepeats * std::ssize(pattern)) {
    return config.wrong(kBlocks, fmt::format("is too short for {} layers", n_layers));
  }
  std::vector<bool> attends;
  for (int64_t i = 0; i < n_layers; ++i) {
    attends.push_back(pattern[static_cast<size_t>(i % std::ssize(pattern))]);
  }
  return attends;
}

}  // namespace

Status read_hf_gated_recurrence(const Members& config, const HfLayers& layers, int64_t width,
                                HfValues& out) {
  constexpr std::string_view kWidth = "lru_width", kTaps = "conv1d_width";
  constexpr std::string_view kCap = "logits_soft_cap", kWindow = "attention_window_size";
  auto counts = std::make_shared<MetaArray>();
  for (const bool attends : TRY(layers_with_attention(config, layers.n))) {
    counts->integers.push_back(attends ? layers.n_kv_heads : 0);
  }
  out.set("attention.head_count_kv", std::shared_ptr<const MetaArray>(counts),
          config.path_of(kBlocks));
  const int64_t n_columns = config.is_set(kWidth) ? TRY(config.positive(kWidth)) : width;
  out.set("recurrence.inner_size", n_columns, config.path_of(kWidth));
  const int64_t n_taps = TRY(config.positive_or(kTaps, 4));
  if (n_taps > 1024) return config.wrong(kTaps, "is above 1024");
  out.set("recurrence.conv_kernel", n_taps, config.path_of(kTaps));
  const double cap = TRY(config.number(kCap)).value_or(30);
  if (!(cap > 0)) return config.wrong(kCap, "is not above 0");
  out.set("final_logit_softcapping", cap, config.path_of(kCap));
  const std::string_view window = config.has(kWindow) ? kWindow : "sliding_window";
  out.set("attention.sliding_window", TRY(config.positive_or(window, 2048)),
          config.path_of(window));
  return {};
}

}  // namespace ruv
