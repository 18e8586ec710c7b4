// MiniCPM3: a dense decoder with latent attention, whose numbers are scaled by depth and width.
#include "family/families.h"

namespace ruv::family {
namespace {
// A property of the class: hidden_size / dim_model_base.
constexpr NeutralKey kNeutral[] = {{"logits_scaling", " null "}};
// Values are as wide as heads of the stream where the config does not say it. What a block adds is
// divided by the root of the depth, and logits were tuned for a stream of dim_model_base numbers.
constexpr HfClass kClasses[] = {
    {.model_type = "minicpm3",
     .class_names = "MiniCPM3ForCausalLM MiniCPM3Model",
     .norm_eps = 1e-5,
     .max_positions = 32768,
     .n_heads = 40,
     .n_kv_heads = 40,
     .null_kv_heads = true,
     .latent = {.q_rank = 768, .kv_rank = 256, .plain_dim = 64, .rope_dim = 32},
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .mlp_bias = "mlp_bias",
     .tied = true,
     .embed_scale = "scale_emb",
     .residual_scale = "scale_depth",
     .embed_scale_default = 12,
     .residual_by_depth = true,
     .residual_scale_default = 1.4,
     .logit_width = "dim_model_base",
     .logit_width_default = 256,
     .without_effect = "pretraining_tp qk_head_dim",
     .neutral = kNeutral}};
}  // namespace

// Files of llama.cpp name no scales: there is one size.
constinit const FamilyRecord minicpm3{
    .name = "minicpm3",
    .published = "MiniCPM3 4B",
    .block = {.mixers = Mixers::latent},
    .usual_embed_scale = 12,
    .usual_depth_scale = 1.4F,
    .usual_logit_width = 256,
    .gguf_keys =
        "embedding_scale residual_scale logit_scale attention.q_lora_rank "
        "attention.kv_lora_rank",
    .classes = kClasses};
}  // namespace ruv::family
