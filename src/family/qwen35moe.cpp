// Qwen3.5 (text) with experts in all layers, beside one that all rows share and weigh.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kText{.model_type = "qwen3_5_moe_text",
                        .class_names = "Qwen3_5MoeForCausalLM Qwen3_5MoeTextModel",
                        .max_positions = 32768,
                        .n_heads = 16,
                        .n_kv_heads = 2,
                        .head_dim = 256,
                        .rope = HfRope::partial,
                        .rotary_part = 0.25,
                        .qkv_bias = "attention_bias",
                        .output_bias = "attention_bias",
                        .experts = {.count = {"num_experts", 256},
                                    .used = {"num_experts_per_tok", 8},
                                    .width = {"moe_intermediate_size", 512},
                                    .shared_width = {"shared_expert_intermediate_size", 512}},
                        // Other engines' settings, and layers that predict further tokens.
                        .without_effect =
                            "output_router_logits router_aux_loss_coef mamba_ssm_dtype "
                            "mtp_num_hidden_layers mtp_use_dedicated_embeddings attn_output_gate"};

// The class with the vision tower, whose text_config is a config of the other.
constexpr HfClass nested() {
  HfClass hf = kText;
  hf.model_type = "qwen3_5_moe";
  hf.class_names = "Qwen3_5MoeForConditionalGeneration Qwen3_5MoeModel";
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
    whole("blk.{}.ssm_a", "model.layers.{}.linear_attn.A_log"),
    whole("blk.{}.ssm_dt.bias", "model.layers.{}.linear_attn.dt_bias"),
    {"blk.{}.ssm_norm", "model.layers.{}.linear_attn.norm"},
    {"blk.{}.ssm_out", "model.layers.{}.linear_attn.out_proj"},
    {"blk.{}.ffn_gate_inp_shexp", "model.layers.{}.mlp.shared_expert_gate"},
    {"blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_expert.gate_proj"},
    {"blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_expert.up_proj"},
    {"blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_expert.down_proj"},
    {.gguf = "blk.{}.ffn_gate_exps.weight",
     .hf = "model.layers.{}.mlp.experts.gate_up_proj",
     .whole = true,
     .stack = ExpertStack::stacked,
     .other = "blk.{}.ffn_up_exps.weight"},
    {.gguf = "blk.{}.ffn_down_exps.weight",
     .hf = "model.layers.{}.mlp.experts.down_proj",
     .whole = true,
     .stack = ExpertStack::stacked},
};
}  // namespace

constinit const FamilyRecord qwen35moe{
    .name = "qwen35moe",
    .published = "Qwen3.5 with experts",
    .block = {.mixers = Mixers::delta_net, .gated_attention = true, .qk_norm = QkNorm::heads},
    .experts = {.computed = true, .shared_router = true},
    .gguf_keys = " rope.dimension_sections nextn_predict_layers ",
    .tiled_value_heads = true,
    .ffn_norm = "post_attention_norm",
    .norms_minus_one = true,
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
