// GPT-Neo: GPT-2 with separate matrices, scores that are not scaled, and a window in every other
// layer.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "transformer.h.{}.ln_1"},
    {"blk.{}.attn_q", "transformer.h.{}.attn.attention.q_proj"},
    {"blk.{}.attn_k", "transformer.h.{}.attn.attention.k_proj"},
    {"blk.{}.attn_v", "transformer.h.{}.attn.attention.v_proj"},
    {"blk.{}.attn_output", "transformer.h.{}.attn.attention.out_proj"},
    {"blk.{}.ffn_norm", "transformer.h.{}.ln_2"},
    {"blk.{}.ffn_up", "transformer.h.{}.mlp.c_fc"},
    {"blk.{}.ffn_down", "transformer.h.{}.mlp.c_proj"},
};
// attention_layers is what the class makes of attention_types.
constexpr HfClass kClasses[] = {
    {.model_type = "gpt_neo",
     .class_names = "GPTNeoForCausalLM GPTNeoModel",
     .sizes = {.layers = "num_hidden_layers num_layers",
               .heads = "num_attention_heads num_heads",
               .kv_heads = ""},
     .ff_is_optional = true,
     .heads_divide = true,
     .act_key = "activation_function",
     .act = "gelu_new",
     .norm_eps_key = "layer_norm_epsilon",
     .norm_eps = 1e-5,
     .max_positions = 2048,
     .n_heads = 16,
     .ignores_head_dim = true,
     .windows = HfWindows::local,
     .window = 256,
     .rope = HfRope::none,
     .scores_are_plain = true,
     .tied = true,
     .without_effect = "_is_quantized attention_layers classifier_dropout resid_dropout "
                       "embed_dropout summary_type "
                       "summary_use_proj summary_activation "
                       "summary_proj_to_labels summary_first_dropout"}};
}  // namespace

constinit const FamilyRecord gpt_neo{.name = "gpt_neo",
                                     .published = "GPT-Neo 125M to 2.7B, TinyStories",
                                     .block = {.norm = Norm::layer,
                                               .positions = Positions::learned,
                                               .all_bias = true,
                                               .gated = false,
                                               .act = Act::gelu_tanh,
                                               .windows = Windows::all},
                                     .vocab = {.splits = "gpt-2"},
                                     .usual_names = false,
                                     .own_names = kNames,
                                     .base_prefix = "transformer.",
                                     .classes = kClasses};
}  // namespace ruv::family
