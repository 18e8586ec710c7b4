// OLMo Hybrid: linear attention by the gated delta rule in three layers of four, normalised before;
// attention as in OLMo 2 in the others, normalised after, mostly without positions.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {
    {.model_type = "olmo_hybrid",
     .class_names = "OlmoHybridForCausalLM OlmoHybridModel",
     .max_positions = 65536,
     .n_heads = 30,
     .null_kv_heads = true,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .linear_by_heads = true,
     .rope_optional = true,
     // How weights are drawn before training.
     .without_effect = "linear_a_log_min linear_a_log_max linear_dt_min linear_dt_max "
                       "linear_dt_init_floor"}};
constexpr TensorName kNames[] = {
    {"blk.{}.attn_q", "model.layers.{}.linear_attn.q_proj"},
    {"blk.{}.attn_k", "model.layers.{}.linear_attn.k_proj"},
    {"blk.{}.attn_v", "model.layers.{}.linear_attn.v_proj"},
    {"blk.{}.attn_gate", "model.layers.{}.linear_attn.g_proj"},
    {"blk.{}.ssm_beta", "model.layers.{}.linear_attn.b_proj"},
    {"blk.{}.ssm_alpha", "model.layers.{}.linear_attn.a_proj"},
    {.gguf = "blk.{}.ssm_conv1d", .hf = "model.layers.{}.linear_attn.conv1d", .depthwise = true},
    whole("blk.{}.ssm_a", "model.layers.{}.linear_attn.A_log"),
    whole("blk.{}.ssm_dt.bias", "model.layers.{}.linear_attn.dt_bias"),
    {"blk.{}.ssm_norm", "model.layers.{}.linear_attn.o_norm"},
    {"blk.{}.ssm_out", "model.layers.{}.linear_attn.o_proj"},
};
}  // namespace

constinit const FamilyRecord olmo_hybrid{.name = "olmo_hybrid",
                                         .published = "OLMo Hybrid 7B",
                                         .block = {.norm_place = NormPlace::post,
                                                   .mixers = Mixers::delta_net,
                                                   .linear_pre_norm = true,
                                                   .linear_norm_eps = 1e-5F,
                                                   .qk_norm = QkNorm::rows},
                                         .ffn_norm = "post_attention_norm",
                                         .own_names = kNames,
                                         .classes = kClasses};
}  // namespace ruv::family
