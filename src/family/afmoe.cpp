// AFMoE (Arcee Trinity): norms around both halves, gated attention, positions in windowed layers
// only; experts by sigmoids and a bias that chooses, after some dense layers.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kNeutral[] = {{"attention_bias", " false "}};
constexpr HfClass kClasses[] = {{.model_type = "afmoe",
                                 .class_names = "AfmoeForCausalLM AfmoeModel",
                                 .norm_eps = 1e-5,
                                 .max_positions = 16384,
                                 .n_heads = 16,
                                 .null_kv_heads = true,
                                 .head_dim = 128,
                                 .windows = HfWindows::periodic,
                                 .window = 1024,
                                 .period_key = "global_attn_every_n_layers",
                                 .experts = {.count = {"num_experts", 64},
                                             .used = {"num_experts_per_tok", 6},
                                             .width = {"moe_intermediate_size", 1408},
                                             .layers = HfExpertLayers::after_first,
                                             .first_dense = {"num_dense_layers", 1},
                                             .scale_key = "route_scale",
                                             .choice_bias = true,
                                             .shared_count = {"num_shared_experts", 2}},
                                 .root_embed_key = "mup_enabled",
                                 .without_effect = "output_router_logits",
                                 .neutral = kNeutral}};
constexpr TensorName kNames[] = {
    {"blk.{}.ffn_norm", "model.layers.{}.pre_mlp_layernorm"},
    {"blk.{}.post_ffw_norm", "model.layers.{}.post_mlp_layernorm"},
    {"blk.{}.attn_gate", "model.layers.{}.self_attn.gate_proj"},
    {"blk.{}.ffn_gate_inp", "model.layers.{}.mlp.router.gate"},
    {.gguf = "blk.{}.exp_probs_b.bias", .hf = "model.layers.{}.mlp.expert_bias", .whole = true},
};
}  // namespace

constinit const FamilyRecord afmoe{
    .name = "afmoe",
    .published = "Trinity Nano and Mini",
    .block = {.norm_place = NormPlace::sandwich,
              .gated_attention = true,
              .qk_norm = QkNorm::heads,
              .windows = Windows::periodic,
              .window_period = 4,
              .only_windows_rotate = true},
    .experts = {.computed = true, .score = RouterScore::sigmoid, .sum_added = 1e-20F},
    .embed_scale = EmbedScale::sqrt_dim,
    .gguf_keys = "embedding_scale",
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
