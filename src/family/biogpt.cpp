// BioGPT: learned positions in a table that begins with two rows for no position, scaled
// embeddings, layer norms, biases, a plain feed-forward.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "biogpt.embed_tokens"},
    {"position_embd", "biogpt.embed_positions"},
    {"output_norm", "biogpt.layer_norm"},
    {"output", "output_projection"},
    {"blk.{}.attn_norm", "biogpt.layers.{}.self_attn_layer_norm"},
    {"blk.{}.attn_q", "biogpt.layers.{}.self_attn.q_proj"},
    {"blk.{}.attn_k", "biogpt.layers.{}.self_attn.k_proj"},
    {"blk.{}.attn_v", "biogpt.layers.{}.self_attn.v_proj"},
    {"blk.{}.attn_output", "biogpt.layers.{}.self_attn.out_proj"},
    {"blk.{}.ffn_norm", "biogpt.layers.{}.final_layer_norm"},
    {"blk.{}.ffn_up", "biogpt.layers.{}.fc1"},
    {"blk.{}.ffn_down", "biogpt.layers.{}.fc2"},
};
constexpr NeutralKey kNeutral[] = {{"scale_embedding", " true "}};
constexpr HfClass kClasses[] = {{.model_type = "biogpt",
                                 .class_names = "BioGptForCausalLM BioGptModel",
                                 .sizes = {.kv_heads = ""},
                                 .heads_divide = true,
                                 .act = "gelu",
                                 .norm_eps_key = "",
                                 .norm_eps = 1e-5,  // its norms do not read layer_norm_eps
                                 .max_positions = 1024,
                                 .n_heads = 16,
                                 .ignores_head_dim = true,
                                 .rope = HfRope::none,
                                 .tied = true,
                                 .without_effect =
                                     "hidden_dropout_prob attention_probs_dropout_prob layerdrop "
                                     "activation_dropout classifier_dropout layer_norm_eps",
                                 .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord biogpt{.name = "biogpt",
                                    .published = "BioGPT 347M and large",
                                    .block = {.norm = Norm::layer,
                                              .positions = Positions::learned,
                                              .position_offset = 2,
                                              .qkv_bias = true,
                                              .all_bias = true,
                                              .gated = false,
                                              .act = Act::gelu},
                                    .embed_scale = EmbedScale::sqrt_dim,
                                    .usual_names = false,
                                    .own_names = kNames,
                                    .base_prefix = "biogpt.",
                                    .classes = kClasses};
}  // namespace ruv::family
