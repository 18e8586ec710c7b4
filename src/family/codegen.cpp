// CodeGen: GPT-J with one matrix for queries, values and keys, in four parts.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "wte"},
    {"output_norm", "ln_f"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "h.{}.ln_1"},
    {"blk.{}.attn_qkv", "h.{}.attn.qkv_proj"},
    {"blk.{}.attn_output", "h.{}.attn.out_proj"},
    {"blk.{}.ffn_up", "h.{}.mlp.fc_in"},
    {"blk.{}.ffn_down", "h.{}.mlp.fc_out"},
};
constexpr HfClass kClasses[] = {{.model_type = "codegen",
                                 .class_names = "CodeGenForCausalLM CodeGenModel",
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
                                                   "summary_first_dropout"}};
}  // namespace

constinit const FamilyRecord codegen{.name = "codegen",
                                     .published = "CodeGen 350M to 16B",
                                     .block = {.norm = Norm::layer,
                                               .parallel = true,
                                               .shared_norm = true,
                                               .mlp_bias = true,
                                               .head_bias = true,
                                               .gated = false,
                                               .act = Act::gelu_tanh},
                                     .neighbour_pairs = true,
                                     .vocab = {.splits = "gpt-2"},
                                     .qkv_rows = QkvRows::four_parts,
                                     .usual_names = false,
                                     .own_names = kNames,
                                     .classes = kClasses};
}  // namespace ruv::family
