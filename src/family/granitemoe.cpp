// Granite MoE: Granite with experts in all layers; some share one among all rows.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfExperts kExperts = {.count = {"num_local_experts", 8},
                                .used = {"num_experts_per_tok", 2}};
constexpr HfExperts kSharing = {
    .count = kExperts.count, .used = kExperts.used, .shared_width = {"shared_intermediate_size"}};
constexpr HfClass kClasses[] = {{.model_type = "granitemoe",
                                 .class_names = "GraniteMoeForCausalLM GraniteMoeModel",
                                 .max_positions = 2048,
                                 .n_heads = 32,
                                 .null_kv_heads = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .experts = kExperts,
                                 .embed_scale = "embedding_multiplier",
                                 .residual_scale = "residual_multiplier",
                                 .attn_scale = "attention_multiplier",
                                 .logit_scale = "logits_scaling",
                                 .without_effect = "output_router_logits router_aux_loss_coef"},
                                {.model_type = "granitemoeshared",
                                 .class_names = "GraniteMoeSharedForCausalLM GraniteMoeSharedModel",
                                 .max_positions = 2048,
                                 .n_heads = 32,
                                 .null_kv_heads = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .experts = kSharing,
                                 .embed_scale = "embedding_multiplier",
                                 .residual_scale = "residual_multiplier",
                                 .attn_scale = "attention_multiplier",
                                 .logit_scale = "logits_scaling",
                                 .without_effect = "output_router_logits router_aux_loss_coef"}};
constexpr TensorName kNames[] = {
    {"blk.{}.ffn_gate_inp", "model.layers.{}.block_sparse_moe.router.layer"},
    {.gguf = "blk.{}.ffn_gate_exps",
     .hf = "model.layers.{}.block_sparse_moe.input_linear",
     .stack = ExpertStack::stacked,
     .other = "blk.{}.ffn_up_exps"},
    {.gguf = "blk.{}.ffn_down_exps",
     .hf = "model.layers.{}.block_sparse_moe.output_linear",
     .stack = ExpertStack::stacked},
    {.gguf = "blk.{}.ffn_gate_shexp",
     .hf = "model.layers.{}.shared_mlp.input_linear",
     .other = "blk.{}.ffn_up_shexp"},
    {"blk.{}.ffn_down_shexp", "model.layers.{}.shared_mlp.output_linear"},
};
}  // namespace

constinit const FamilyRecord granitemoe{.name = "granitemoe",
                                        .published = "Granite 3.0 and 3.1 1B-A400M and 3B-A800M",
                                        .experts = {.computed = true},
                                        .divides_logits = true,
                                        .gguf_keys = "embedding_scale residual_scale logit_scale",
                                        .neighbour_rows = true,
                                        .own_names = kNames,
                                        .classes = kClasses};
}  // namespace ruv::family
