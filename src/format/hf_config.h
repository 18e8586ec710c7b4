// config.json of a HuggingFace checkpoint as GGUF metadata: the same keys and meanings, so that a
// model is built from either container by the same code. Old configs (rope_theta, rope_scaling) and
// those of transformers 5 (rope_parameters) both read.
//
// Keys beyond what GGUF files have, all after "<architecture>.":
//   hidden_act                         text, "silu", "gelu_pytorch_tanh", "gelu_new", …
//   tie_word_embeddings                truth value
//   attention_bias, mlp_bias           truth values, when the config has them
//   attention.query_pre_attn_scalar    number (Gemma 2, 3)
//   rope.scaling.low_freq_factor, .high_freq_factor       numbers (llama3)
//   rope.scaling.short_factor, .long_factor               arrays of rope.dimension_count / 2
//   numbers rope.freq_base_swa                 RoPE base of windowed layers (Gemma 3)
//   attention.sliding_window_pattern   integer p: every p-th layer (layer % p == p - 1) sees all,
//                                      the others a window; or an array of truth values, true for
//                                      layers with a window. Absent: the window is on all layers.
#pragma once

#include "format/model_file.h"

namespace ruv {

struct HfConfig {
  std::string architecture;  // GGUF name, or the config's own name when we do not know it
  MetaMap metadata;          // only general.architecture when we do not know the architecture
  bool norms_minus_one = false;
  bool tied_embeddings = false;  // an output matrix in the file is to be ignored
};

// Fails: corrupt (not JSON, a field is missing, of another type or out of range; it is named),
// unsupported (a layer pattern or RoPE kind that has no GGUF form).
Result<HfConfig> parse_hf_config(std::string_view text, const std::string& source);

}  // namespace ruv
