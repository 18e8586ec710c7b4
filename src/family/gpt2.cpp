// GPT-2: layer norm, learned positions, a plain feed-forward, biases everywhere. Checkpoints keep
// matrices transposed, as Conv1D, under names of their own; configs use short keys.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"output", "lm_head"},
    {"token_embd", "wte"},
    {"position_embd", "wpe"},
    {"output_norm", "ln_f"},
    {"blk.{}.attn_norm", "h.{}.ln_1"},
    {"blk.{}.attn_qkv", "h.{}.attn.c_attn", true},
    {"blk.{}.attn_output", "h.{}.attn.c_proj", true},
    {"blk.{}.ffn_norm", "h.{}.ln_2"},
    {"blk.{}.ffn_up", "h.{}.mlp.c_fc", true},
    {"blk.{}.ffn_down", "h.{}.mlp.c_proj", true},
};
constexpr NeutralKey kNeutral[] = {{"add_cross_attention", "false"}};
constexpr HfClass kClasses[] = {
    {.model_type = "gpt2",
     .class_names = "GPT2LMHeadModel GPT2Model",
     .sizes = kShortSizes,
     .ff_is_optional = true,
     .heads_divide = true,
     .act_key = "activation_function",
     .act = "gelu_new",
     .norm_eps_key = "layer_norm_epsilon",
     .norm_eps = 1e-5,
     .max_positions = 1024,
     .ignores_head_dim = true,
     .rope = HfRope::none,
     .scales_attention = true,
     .tied = true,
     // The order of a product, and the heads of other tasks.
     .without_effect = "reorder_and_upcast_attn n_ctx summary_type summary_use_proj "
                       "summary_activation summary_proj_to_labels summary_first_dropout "
                       "summary_last_dropout classifier_dropout hidden_dropout num_labels",
     .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord gpt2{.name = "gpt2",
                                  .published = "GPT-2 124M to 1.5B, DistilGPT-2",
                                  .block = {.norm = Norm::layer,
                                            .positions = Positions::learned,
                                            .qkv_bias = true,
                                            .all_bias = true,
                                            .gated = false,
                                            .act = Act::gelu_tanh},
                                  .vocab = {.splits = "gpt-2"},
                                  .usual_names = false,
                                  .own_names = kNames,
                                  .classes = kClasses};
}  // namespace ruv::family
