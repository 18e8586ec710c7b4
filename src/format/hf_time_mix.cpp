// Keys of classes whose layers are a time mix and a channel mix.
#include "format/hf_values.h"

namespace ruv {

Status read_hf_time_mix(const Members& config, HfValues& out) {
  constexpr int64_t kMostLayers = 65536;
  constexpr std::string_view kLayers = "num_hidden_layers", kWidth = "hidden_size";
  constexpr std::string_view kInner = "attention_hidden_size", kFf = "intermediate_size";
  constexpr std::string_view kRescale = "rescale_every", kEps = "layer_norm_epsilon";
  const int64_t n_layers = TRY(config.positive(kLayers));
  if (n_layers > kMostLayers) return config.wrong(kLayers, "is above 65536");
  out.set("block_count", n_layers, config.path_of(kLayers));
  const int64_t width = TRY(config.positive(kWidth));
  out.set("embedding_length", width, config.path_of(kWidth));
  const int64_t n_ff = config.is_set(kFf) ? TRY(config.positive(kFf)) : 4 * width;
  out.set("feed_forward_length", n_ff, config.path_of(kFf));
  const int64_t n_inner = config.is_set(kInner) ? TRY(config.positive(kInner)) : width;
  out.set("time_mix.inner_size", n_inner, config.path_of(kInner));
  // One is another name of the other, which counts if both are there.
  const std::string_view context =
      config.has("max_position_embeddings") ? "max_position_embeddings" : "context_length";
  out.set("context_length", TRY(config.positive_or(context, 1024)), config.path_of(context));
  if (config.has("vocab_size")) {
    out.set("vocab_size", TRY(config.positive("vocab_size")), config.path_of("vocab_size"));
  }
  out.set("attention.layer_norm_epsilon", TRY(config.number(kEps)).value_or(1e-5),
          config.path_of(kEps));
  const int64_t every = config.has(kRescale) ? TRY(config.integer(kRescale)) : 6;
  if (every > 0) out.set("rescale_every_n_layers", every, config.path_of(kRescale));
  return {};
}

}  // namespace ruv
