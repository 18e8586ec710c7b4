// MiniCPM: Llama whose numbers are scaled by depth and width.
#include "family/families.h"

namespace ruv::family {
namespace {
// Attention to chosen blocks alone of long texts; and a mixture of experts.
constexpr NeutralKey kNeutral[] = {
    {"sparse_config", " null "}, {"num_experts", " 0 null "}, {"mup_denominator", " null 32 "}};
constexpr HfClass kClasses[] = {{.model_type = "minicpm",
                                 .class_names = "MiniCPMForCausalLM MiniCPMModel",
                                 .max_positions = 2048,
                                 .n_heads = 32,
                                 .null_kv_heads = true,
                                 .ignores_head_dim = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .tied = true,
                                 .embed_scale = "scale_emb",
                                 .residual_scale = "scale_depth",
                                 .residual_by_depth = true,
                                 .logit_width = "dim_model_base",
                                 .logit_width_default = 1,
                                 .without_effect = "pretraining_tp",
                                 .neutral = kNeutral}};
}  // namespace

// Files that name no scales are of the first sizes.
constinit const FamilyRecord minicpm{
    .name = "minicpm",
    .published = "MiniCPM 1 and 2, 1B and 2B, MiniCPM4 0.5B and 8B",
    .divides_logits = true,
    .usual_embed_scale = 12,
    .usual_depth_scale = 1.4F,
    .usual_logit_width = 256,
    .gguf_keys = "embedding_scale residual_scale logit_scale",
    .neighbour_rows = true,
    .classes = kClasses};
}  // namespace ruv::family
