// OPT: learned positions in a table that begins with two rows for no position, layer norms, biases,
// a plain feed-forward. The 350M model (norms after each half, a narrower embedding) is refused.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "model.decoder.embed_tokens"},
    {"position_embd", "model.decoder.embed_positions"},
    {"output_norm", "model.decoder.final_layer_norm"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "model.decoder.layers.{}.self_attn_layer_norm"},
    {"blk.{}.attn_q", "model.decoder.layers.{}.self_attn.q_proj"},
    {"blk.{}.attn_k", "model.decoder.layers.{}.self_attn.k_proj"},
    {"blk.{}.attn_v", "model.decoder.layers.{}.self_attn.v_proj"},
    {"blk.{}.attn_output", "model.decoder.layers.{}.self_attn.out_proj"},
    {"blk.{}.ffn_norm", "model.decoder.layers.{}.final_layer_norm"},
    {"blk.{}.ffn_up", "model.decoder.layers.{}.fc1"},
    {"blk.{}.ffn_down", "model.decoder.layers.{}.fc2"},
};
constexpr NeutralKey kNeutral[] = {{"do_layer_norm_before", " true "},
                                   {"_remove_final_layer_norm", " false "},
                                   {"layer_norm_elementwise_affine", " true "}};
constexpr HfClass kClasses[] = {{.model_type = "opt",
                                 .class_names = "OPTForCausalLM OPTModel",
                                 .sizes = {.kv_heads = "", .ff = "ffn_dim"},
                                 .heads_divide = true,
                                 .width_again = "word_embed_proj_dim",
                                 .act_key = "activation_function",
                                 .act = "relu",
                                 .norm_eps_key = "",
                                 .norm_eps = 1e-5,
                                 .max_positions = 2048,
                                 .n_heads = 12,
                                 .ignores_head_dim = true,
                                 .rope = HfRope::none,
                                 .qkv_bias = "enable_bias",
                                 .output_bias = "enable_bias",
                                 .mlp_bias = "enable_bias",
                                 .biases_by_default = true,
                                 .tied = true,
                                 .without_effect = "dropout layerdrop init_std activation_dropout",
                                 .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord opt{.name = "opt",
                                 .published = "OPT 125M to 66B, without 350M",
                                 .block = {.norm = Norm::layer,
                                           .positions = Positions::learned,
                                           .position_offset = 2,
                                           .gated = false,
                                           .act = Act::relu},
                                 .vocab = {.splits = "gpt-2"},
                                 .usual_names = false,
                                 .own_names = kNames,
                                 .classes = kClasses};
}  // namespace ruv::family
