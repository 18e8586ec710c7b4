// Llama 4: three of four layers see chunks and rotate their heads, whose norms have no weights; in
// the others queries grow with their position. Experts read rows that are multiplied by the sigmoid
// of their score, and one more is shared by all rows.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfExperts kExperts = {.count = {"num_local_experts", 16},
                                .used = {"num_experts_per_tok", 1},
                                .width = {"intermediate_size"},
                                .layers = HfExpertLayers::interleaved,
                                .normalises = false,
                                .shared_width = {"intermediate_size"}};
constexpr HfClass kText = {.model_type = "llama4_text",
                           .class_names = "Llama4ForCausalLM Llama4TextModel",
                           .sizes = {.ff = "intermediate_size_mlp"},
                           .norm_eps = 1e-5,
                           .max_positions = 131072,
                           .n_heads = 40,
                           .n_kv_heads = 8,
                           .null_kv_heads = true,
                           .head_dim = 128,
                           .null_head_dim = true,
                           .windows = HfWindows::chunks,
                           .window = 8192,
                           .rope_base = 500000,
                           .growth = HfGrowth::keys,
                           .qkv_bias = "attention_bias",
                           .output_bias = "attention_bias",
                           .qk_norm_key = "use_qk_norm",
                           .qk_norm_by_default = true,
                           .experts = kExperts,
                           .rotated_key = "no_rope_layers",
                           .unrotated_key = "no_rope_layer_interval",
                           .without_effect =
                               "output_router_logits router_aux_loss_coef "
                               "router_jitter_noise"};
// The same in text_config, beside the settings of pictures.
constexpr HfClass nested(HfClass text) {
  text.model_type = "llama4";
  text.class_names = "Llama4ForConditionalGeneration";
  text.nested = true;
  return text;
}
constexpr HfClass kClasses[] = {kText, nested(kText)};
// Columns of the first matrix of experts are those of gate, then those of up.
constexpr TensorName kNames[] = {
    {"blk.{}.ffn_gate_inp", "model.layers.{}.feed_forward.router"},
    {.gguf = "blk.{}.ffn_gate_exps.weight",
     .hf = "model.layers.{}.feed_forward.experts.gate_up_proj",
     .conv1d = true,
     .whole = true,
     .stack = ExpertStack::stacked,
     .other = "blk.{}.ffn_up_exps.weight"},
    {.gguf = "blk.{}.ffn_down_exps.weight",
     .hf = "model.layers.{}.feed_forward.experts.down_proj",
     .conv1d = true,
     .whole = true,
     .stack = ExpertStack::stacked},
    {"blk.{}.ffn_gate_shexp", "model.layers.{}.feed_forward.shared_expert.gate_proj"},
    {"blk.{}.ffn_up_shexp", "model.layers.{}.feed_forward.shared_expert.up_proj"},
    {"blk.{}.ffn_down_shexp", "model.layers.{}.feed_forward.shared_expert.down_proj"},
    {"blk.{}.ffn_gate", "model.layers.{}.feed_forward.gate_proj"},
    {"blk.{}.ffn_up", "model.layers.{}.feed_forward.up_proj"},
    {"blk.{}.ffn_down", "model.layers.{}.feed_forward.down_proj"},
};
}  // namespace

// GGUF files say neither chunks nor growth; a window of 0 means that there are none and that all
// layers rotate. Maverick, the size with 128 experts, has no norms of queries and keys.
constinit const FamilyRecord llama4{
    .name = "llama4",
    .published = "Llama 4 Scout and Maverick, the text",
    .block = {.qk_norm = QkNorm::heads,
              .qk_norm_optional = true,
              .qk_norm_weights = false,
              .rotates_first = true,
              .windows = Windows::periodic,
              .window_period = 4,
              .windows_are_chunks = true,
              .only_windows_rotate = true,
              .only_rotated_norms = true,
              .growth = Growth::unrotated},
    .experts = {.computed = true,
                .score = RouterScore::sigmoid,
                .normalises = false,
                .weighs_inputs = true,
                .always_shared = true},
    .neighbour_pairs = true,
    .gguf_keys = "attention.temperature_scale attention.temperature_length",
    .usual_window = 8192,
    .usual_growth = {.slope = 0.1F, .span = 8192},
    .unnormalised_experts = 128,
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
