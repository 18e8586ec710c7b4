// MiniMax M2: experts in all layers, by sigmoids and a bias that chooses; queries and keys are
// normalised as whole rows, and a part of each head rotates.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {
    {.model_type = "minimax_m2",
     .class_names = "MiniMaxM2ForCausalLM MiniMaxM2Model",
     .max_positions = 196608,
     .n_heads = 48,
     .n_kv_heads = 8,
     .head_dim = 128,
     .rope = HfRope::partial,
     .rope_base = 5e6,
     .rotated_dims_key = "rotary_dim",
     .experts = {.count = {"num_local_experts num_experts", 256},
                 .used = {"num_experts_per_tok", 8},
                 .choice_bias = true},
     .without_effect = "output_router_logits router_aux_loss_coef router_jitter_noise"}};
constexpr TensorName kNames[] = {
    {"blk.{}.ffn_gate_inp", "model.layers.{}.block_sparse_moe.gate"},
    {.gguf = "blk.{}.exp_probs_b.bias",
     .hf = "model.layers.{}.block_sparse_moe.e_score_correction_bias",
     .whole = true},
    {"blk.{}.ffn_gate.{}", "model.layers.{}.block_sparse_moe.experts.{}.w1"},
    {"blk.{}.ffn_down.{}", "model.layers.{}.block_sparse_moe.experts.{}.w2"},
    {"blk.{}.ffn_up.{}", "model.layers.{}.block_sparse_moe.experts.{}.w3"},
};
}  // namespace

constinit const FamilyRecord minimax_m2{
    .name = "minimax-m2",
    .published = "MiniMax M2",
    .block = {.qk_norm = QkNorm::rows},
    .experts = {.computed = true, .score = RouterScore::sigmoid},
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
