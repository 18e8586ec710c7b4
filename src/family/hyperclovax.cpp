// HyperCLOVA X SEED: Granite with norms after attention and feed-forward, and logits that are
// multiplied.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kNeutral[] = {{"use_post_norm", " true "}};
constexpr HfClass kClasses[] = {{.model_type = "hyperclovax",
                                 .class_names = "HyperCLOVAXForCausalLM HyperCLOVAXModel",
                                 .heads_divide = true,
                                 .max_positions = 2048,
                                 .n_heads = 32,
                                 .null_kv_heads = true,
                                 .null_head_dim = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .mlp_bias = "mlp_bias",
                                 .embed_scale = "embedding_multiplier",
                                 .residual_scale = "residual_multiplier",
                                 .attn_scale = "attention_multiplier",
                                 .logit_scale = "logits_scaling",
                                 .attn_scale_by_size = true,
                                 .neutral = kNeutral}};
constexpr TensorName kNames[] = {
    {"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
    {"blk.{}.post_attention_norm", "model.layers.{}.post_norm1"},
    {"blk.{}.post_ffw_norm", "model.layers.{}.post_norm2"},
};
}  // namespace

constinit const FamilyRecord hyperclovax{.name = "hyperclovax",
                                         .published = "HyperCLOVA X SEED Think 14B",
                                         .block = {.norm_place = NormPlace::sandwich},
                                         .gguf_keys = "embedding_scale residual_scale logit_scale",
                                         .own_names = kNames,
                                         .classes = kClasses};
}  // namespace ruv::family
