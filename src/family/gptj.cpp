// GPT-J: one norm before attention and a plain feed-forward beside it; a part of each head is
// rotated in neighbouring pairs; biases in the feed-forward and the output only.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "wte"},
    {"output_norm", "ln_f"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "h.{}.ln_1"},
    {"blk.{}.attn_q", "h.{}.attn.q_proj"},
    {"blk.{}.attn_k", "h.{}.attn.k_proj"},
    {"blk.{}.attn_v", "h.{}.attn.v_proj"},
    {"blk.{}.attn_output", "h.{}.attn.out_proj"},
    {"blk.{}.ffn_up", "h.{}.mlp.fc_in"},
    {"blk.{}.ffn_down", "h.{}.mlp.fc_out"},
};
constexpr HfClass kClasses[] = {{.model_type = "gptj",
                                 .class_names = "GPTJForCausalLM GPTJModel",
                                 .sizes = kShortSizes,
                                 .ff_is_optional = true,
                                 .heads_divide = true,
                                 .act_key = "activation_function",
                                 .act = "gelu_new",
                                 .norm_eps_key = "layer_norm_epsilon",
                                 .norm_eps = 1e-5,
                                 .max_positions = 2048,
                                 .ignores_head_dim = true,
                                 .rope = HfRope::counted,
                                 .rotary_dims = 64,
                                 // Heads of other tasks, and what is the same in all files.
                                 .without_effect = "n_ctx rotary scale_attn_weights "
                                                   "summary_type summary_use_proj "
                                                   "summary_activation summary_proj_to_labels "
                                                   "summary_first_dropout _is_quantized"}};
}  // namespace

constinit const FamilyRecord gptj{.name = "gptj",
                                  .published = "GPT-J 6B",
                                  .block = {.norm = Norm::layer,
                                            .parallel = true,
                                            .shared_norm = true,
                                            .mlp_bias = true,
                                            .head_bias = true,
                                            .gated = false,
                                            .act = Act::gelu_tanh},
                                  .neighbour_pairs = true,
                                  .vocab = {.splits = "gpt-2"},
                                  .usual_names = false,
                                  .own_names = kNames,
                                  .classes = kClasses};
}  // namespace ruv::family
