// LFM2-MoE: LFM2 with experts, by sigmoids and a bias that chooses, after some dense layers.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {
    {.model_type = "lfm2_moe",
     .class_names = "Lfm2MoeForCausalLM Lfm2MoeModel",
     .act_key = "",
     .norm_eps_key = "norm_eps",
     .norm_eps = 1e-5,
     .short_tie_key = true,
     .max_positions = 128000,
     .n_heads = 32,
     .n_kv_heads = 8,
     .rope_base = 1e6,
     .tied = true,
     .experts = {.count = {"num_experts", 32},
                 .used = {"num_experts_per_tok", 4},
                 .width = {"moe_intermediate_size", 1792},
                 .layers = HfExpertLayers::after_first,
                 .first_dense = {"num_dense_layers", 2},
                 .normalises_key = "norm_topk_prob",
                 .scale_key = "routed_scaling_factor",
                 .choice_bias = true,
                 .choice_bias_key = "use_expert_bias"},
     .without_effect = "output_router_logits conv_dim conv_use_xavier_init theta"}};
constexpr TensorName kNames[] = {
    {"token_embd_norm", "model.embedding_norm"},
    {"blk.{}.attn_norm", "model.layers.{}.operator_norm"},
    {"blk.{}.attn_output", "model.layers.{}.self_attn.out_proj"},
    {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_layernorm"},
    {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_layernorm"},
    {"blk.{}.shortconv.in_proj", "model.layers.{}.conv.in_proj"},
    {.gguf = "blk.{}.shortconv.conv", .hf = "model.layers.{}.conv.conv", .depthwise = true},
    {"blk.{}.shortconv.out_proj", "model.layers.{}.conv.out_proj"},
    {"blk.{}.ffn_norm", "model.layers.{}.ffn_norm"},
    {"blk.{}.ffn_gate", "model.layers.{}.feed_forward.w1"},
    {"blk.{}.ffn_up", "model.layers.{}.feed_forward.w3"},
    {"blk.{}.ffn_down", "model.layers.{}.feed_forward.w2"},
    {"blk.{}.ffn_gate_inp", "model.layers.{}.feed_forward.gate"},
    {.gguf = "blk.{}.exp_probs_b.bias",
     .hf = "model.layers.{}.feed_forward.expert_bias",
     .whole = true},
    {"blk.{}.ffn_gate.{}", "model.layers.{}.feed_forward.experts.{}.w1"},
    {"blk.{}.ffn_up.{}", "model.layers.{}.feed_forward.experts.{}.w3"},
    {"blk.{}.ffn_down.{}", "model.layers.{}.feed_forward.experts.{}.w2"},
};
}  // namespace

constinit const FamilyRecord lfm2moe{
    .name = "lfm2moe",
    .published = "LFM2 8B-A1B",
    .block = {.mixers = Mixers::short_conv, .qk_norm = QkNorm::heads},
    .experts = {.computed = true, .score = RouterScore::sigmoid, .sum_added = 1e-6F},
    .last_norm = "token_embd_norm",
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
