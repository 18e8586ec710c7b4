// Qwen3-Next: linear attention by the gated delta rule in three layers of four, attention with
// gated results in the others, and experts beside one that all rows share and weigh.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {
    {.model_type = "qwen3_next",
     .class_names = "Qwen3NextForCausalLM Qwen3NextModel",
     .max_positions = 32768,
     .n_heads = 16,
     .n_kv_heads = 2,
     .head_dim = 256,
     .rope = HfRope::partial,
     .rotary_part = 0.25,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .experts = {.count = {"num_experts", 512},
                 .used = {"num_experts_per_tok", 10},
                 .width = {"moe_intermediate_size", 512},
                 .layers = HfExpertLayers::by_step,
                 .normalises_key = "norm_topk_prob",
                 .shared_width = {"shared_expert_intermediate_size", 512}},
     .without_effect = "output_router_logits router_aux_loss_coef"}};

// A key head's queries, keys, values and gate follow each other in one matrix, its betas and decays
// in another.
constexpr TensorName kNames[] = {
    {"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"},
    {"blk.{}.ssm_in", "model.layers.{}.linear_attn.in_proj_qkvz"},
    {"blk.{}.ssm_ba", "model.layers.{}.linear_attn.in_proj_ba"},
    {.gguf = "blk.{}.ssm_conv1d", .hf = "model.layers.{}.linear_attn.conv1d", .depthwise = true},
    whole("blk.{}.ssm_a", "model.layers.{}.linear_attn.A_log"),
    whole("blk.{}.ssm_dt.bias", "model.layers.{}.linear_attn.dt_bias"),
    {"blk.{}.ssm_norm", "model.layers.{}.linear_attn.norm"},
    {"blk.{}.ssm_out", "model.layers.{}.linear_attn.out_proj"},
    {"blk.{}.ffn_gate_inp_shexp", "model.layers.{}.mlp.shared_expert_gate"},
    {"blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_expert.gate_proj"},
    {"blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_expert.up_proj"},
    {"blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_expert.down_proj"},
};
}  // namespace

constinit const FamilyRecord qwen3next{
    .name = "qwen3next",
    .published = "Qwen3-Next 80B-A3B",
    .block = {.mixers = Mixers::delta_net, .gated_attention = true, .qk_norm = QkNorm::heads},
    .experts = {.computed = true, .shared_router = true},
    .ffn_norm = "post_attention_norm",
    .vocab = {.splits = "qwen2"},
    .norms_minus_one = true,
    .predicts_ahead = true,
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
