// GPT, the first: GPT-2 with norms of the stream after each half of a block, and none at the end.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"output", "lm_head"},
    {"token_embd", "tokens_embed"},
    {"position_embd", "positions_embed"},
    {"blk.{}.attn_qkv", "h.{}.attn.c_attn", true},
    {"blk.{}.attn_output", "h.{}.attn.c_proj", true},
    {"blk.{}.attn_output_norm", "h.{}.ln_1"},
    {"blk.{}.ffn_up", "h.{}.mlp.c_fc", true},
    {"blk.{}.ffn_down", "h.{}.mlp.c_proj", true},
    {"blk.{}.layer_output_norm", "h.{}.ln_2"},
};
constexpr HfSizeKeys sizes() {
  HfSizeKeys keys = kShortSizes;
  keys.ff = "";
  return keys;
}
constexpr HfClass kClasses[] = {
    {.model_type = "openai-gpt",
     .class_names = "OpenAIGPTLMHeadModel OpenAIGPTModel",
     .sizes = sizes(),
     .heads_divide = true,
     .act_key = "afn",
     .act = "gelu_new",
     .gelu_is_tanh = true,
     .norm_eps_key = "layer_norm_epsilon",
     .norm_eps = 1e-5,
     .max_positions = 512,
     .n_heads = 12,
     .ignores_head_dim = true,
     .rope = HfRope::none,
     .tied = true,
     // The heads of other tasks.
     .without_effect = "n_ctx n_special summary_type summary_use_proj summary_activation "
                       "summary_proj_to_labels summary_first_dropout summary_last_dropout "
                       "predict_special_tokens"}};
}  // namespace

constinit const FamilyRecord openai_gpt{.name = "openai-gpt",
                                        .published = "GPT 117M",
                                        .block = {.norm = Norm::layer,
                                                  .norm_place = NormPlace::sum,
                                                  .positions = Positions::learned,
                                                  .qkv_bias = true,
                                                  .all_bias = true,
                                                  .gated = false,
                                                  .act = Act::gelu_tanh},
                                        .last_norm = "",
                                        .usual_names = false,
                                        .own_names = kNames,
                                        .classes = kClasses};
}  // namespace ruv::family
