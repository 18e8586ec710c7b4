// Qwen3.5 (text): linear attention by the gated delta rule in three layers of four, and attention
// with normalised queries and keys, gated results and a quarter of each head rotated.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kText{.model_type = "qwen3_5_text",
                        .class_names = "Qwen3_5ForCausalLM Qwen3_5TextModel",
                        .max_positions = 32768,
                        .n_heads = 16,
                        .n_kv_heads = 4,
                        .head_dim = 256,
                        .rope = HfRope::partial,
                        .rotary_part = 0.25,
                        .qkv_bias = "attention_bias",
                        .output_bias = "attention_bias",
                        // Other engines' settings, and layers that predict further tokens.
                        .without_effect =
                            "mamba_ssm_dtype mtp_num_hidden_layers "
                            "mtp_use_dedicated_embeddings attn_output_gate"};

// The class with the vision tower, whose text_config is a config of the other.
constexpr HfClass nested() {
  HfClass hf = kText;
  hf.model_type = "qwen3_5";
  hf.class_names = "Qwen3_5ForConditionalGeneration Qwen3_5Model";
  hf.nested = true;
  return hf;
}
constexpr HfClass kClasses[] = {kText, nested()};

constexpr TensorName kNames[] = {
    {"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"},
    {"blk.{}.attn_qkv", "model.layers.{}.linear_attn.in_proj_qkv"},
    {"blk.{}.attn_gate", "model.layers.{}.linear_attn.in_proj_z"},
    {"blk.{}.ssm_beta", "model.layers.{}.linear_attn.in_proj_b"},
    {"blk.{}.ssm_alpha", "model.layers.{}.linear_attn.in_proj_a"},
    {.gguf = "blk.{}.ssm_conv1d", .hf = "model.layers.{}.linear_attn.conv1d", .depthwise = true},
    {.gguf = "blk.{}.ssm_a", .hf = "model.layers.{}.linear_attn.A_log", .whole = true},
    {.gguf = "blk.{}.ssm_dt.bias", .hf = "model.layers.{}.linear_attn.dt_bias", .whole = true},
    {"blk.{}.ssm_norm", "model.layers.{}.linear_attn.norm"},
    {"blk.{}.ssm_out", "model.layers.{}.linear_attn.out_proj"},
};
}  // namespace

constinit const FamilyRecord qwen35{
    .name = "qwen35",
    .published = "Qwen3.5 dense",
    .block = {.mixers = Mixers::delta_net, .gated_attention = true, .qk_norm = QkNorm::heads},
    .gguf_keys = " rope.dimension_sections nextn_predict_layers ",
    .tiled_value_heads = true,
    .ffn_norm = "post_attention_norm",
    .norms_minus_one = true,
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
