// Granite with attention sinks and windows in all but the first of every four layers, dense or with
// experts. Layers may have bases of their own, or no positions.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kDense{.model_type = "granite_swa",
                         .class_names = "GraniteSWAForCausalLM GraniteSWAModel",
                         .norm_eps = 1e-5,
                         .max_positions = 8192,
                         .n_heads = 20,
                         .n_kv_heads = 4,
                         .null_kv_heads = true,
                         .windows = HfWindows::periodic,
                         .window = 128,
                         .layer_bases_key = "layer_rope_theta",
                         .qkv_bias = "attention_bias",
                         .output_bias = "attention_bias",
                         .mlp_bias = "mlp_bias",
                         .tied = true,
                         .embed_scale = "embedding_multiplier",
                         .residual_scale = "residual_multiplier",
                         .attn_scale = "attention_multiplier",
                         .logit_scale = "logits_scaling"};
constexpr HfClass with_experts() {
  HfClass hf = kDense;
  hf.model_type = "granitemoe_swa";
  hf.class_names = "GraniteMoeSWAForCausalLM GraniteMoeSWAModel";
  hf.norm_eps = 1e-6;
  hf.max_positions = 2048;
  hf.n_heads = 32;
  hf.n_kv_heads = 0;
  hf.mlp_bias = {};
  hf.tied = false;
  hf.experts = {.count = {"num_local_experts", 8},
                .used = {"num_experts_per_tok", 2},
                .shared_width = {"shared_intermediate_size"}};
  hf.without_effect = "output_router_logits router_aux_loss_coef";
  return hf;
}
constexpr HfClass kClasses[] = {kDense, with_experts()};
// Experts are named as in memory, or as in Granite's older checkpoints.
constexpr TensorName kNames[] = {
    {.gguf = "blk.{}.attn_sinks.weight", .hf = "model.layers.{}.self_attn.sinks", .whole = true},
    {"blk.{}.ffn_gate_inp", "model.layers.{}.block_sparse_moe.router"},
    {"blk.{}.ffn_gate_inp", "model.layers.{}.block_sparse_moe.router.layer"},
    {.gguf = "blk.{}.ffn_gate_exps.weight",
     .hf = "model.layers.{}.block_sparse_moe.experts.gate_up_proj",
     .whole = true,
     .stack = ExpertStack::stacked,
     .other = "blk.{}.ffn_up_exps.weight"},
    {.gguf = "blk.{}.ffn_down_exps.weight",
     .hf = "model.layers.{}.block_sparse_moe.experts.down_proj",
     .whole = true,
     .stack = ExpertStack::stacked},
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

constinit const FamilyRecord granite_swa{
    .name = "granite_swa",
    .published = "Granite SWASH 2B and 3B-A600M",
    .block = {.windows = Windows::periodic, .window_period = 4, .full_first = true, .sinks = true},
    .experts = {.computed = true},
    .divides_logits = true,
    .gguf_keys = "embedding_scale residual_scale logit_scale",
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
