#include "model/role.h"

namespace ruv {
namespace {

using enum LayerSize;
constexpr auto kQkvBias = &BlockSpec::qkv_bias;
constexpr auto kAllBias = &BlockSpec::all_bias;
constexpr auto kExpertBias = &BlockSpec::expert_bias;

constexpr RoleRow kRoleRows[] = {
    {Role::q, "attn_q", q, attn_in, "attention_bias", kQkvBias},
    {Role::k, "attn_k", k, attn_in, "attention_bias", kQkvBias},
    {Role::v, "attn_v", v, attn_in, "attention_bias", kQkvBias},
    {Role::attn_gate, "attn_gate", q, embd, "attention_bias", kQkvBias},
    {Role::q_a, "attn_q_a", q_rank, embd, "attention_bias", kQkvBias},
    {Role::q_plain, "attn_q_b", q_plain, q_from, "attention_bias", kQkvBias},
    {Role::q_rope, "attn_q_b", q_rope, q_from, "attention_bias", kQkvBias},
    {Role::kv_a, "attn_kv_a_mqa", kv_rank, embd, "attention_bias", kQkvBias},
    {Role::k_rope, "attn_kv_a_mqa", rope, embd, "attention_bias", kQkvBias},
    {Role::k_b, "attn_k_b", kv_rank, plain, "attention_bias", kQkvBias, "", true},
    {Role::v_b, "attn_v_b", value, kv_rank, "attention_bias", kQkvBias, "", true},
    {Role::index_q, "indexer.attn_q_b", index_q, q_rank, "", nullptr},
    {Role::index_k, "indexer.attn_k", index_k, embd, "", nullptr},
    {Role::index_weights, "indexer.proj", index_heads, embd, "", nullptr},
    {Role::o, "attn_output", embd, o, "attention_output_bias", kAllBias},
    {Role::cross_q, "cross_attn_q", q, embd, "", nullptr},
    {Role::cross_k, "cross_attn_k", k, source_embd, "", nullptr},
    {Role::cross_v, "cross_attn_v", v, source_embd, "", nullptr},
    {Role::cross_o, "cross_attn_o", embd, o, "", nullptr},
    {Role::delta_in, "attn_qkv", conv, embd, "", nullptr},
    {Role::delta_gate, "attn_gate", inner, embd, "", nullptr},
    {Role::beta, "ssm_beta", value_heads, embd, "", nullptr},
    {Role::decay, "ssm_alpha", value_heads, embd, "", nullptr},
    {Role::gate_low, "ssm_g_a", delta_low, embd, "", nullptr},
    {Role::gate_up, "ssm_g_b", inner, delta_low, "", nullptr},
    {Role::decay_low, "ssm_f_a", delta_low, embd, "", nullptr},
    {Role::decay_up, "ssm_f_b", decays, delta_low, "", nullptr},
    {Role::delta_out, "ssm_out", embd, inner, "", nullptr},
    {Role::conv_in, "shortconv.in_proj", conv, embd, "conv_bias", kAllBias},
    {Role::conv_out, "shortconv.out_proj", embd, embd, "conv_bias", kAllBias},
    {Role::recurrence_x, "recurrence_x", inner, embd, "", kAllBias},
    {Role::recurrence_y, "recurrence_y", inner, embd, "", kAllBias},
    {Role::recurrence_out, "recurrence_out", embd, inner, "", kAllBias},
    {Role::memory_q, "memory_q", q, embd, "", nullptr},
    {Role::memory_k, "memory_k", k, embd, "", nullptr},
    {Role::memory_v, "memory_v", v, embd, "", nullptr},
    {Role::memory_gate, "memory_gate", inner, embd, "", nullptr},
    {Role::memory_in, "memory_in", value_heads, embd, "", &BlockSpec::gate_bias},
    {Role::memory_forget, "memory_forget", value_heads, embd, "", &BlockSpec::gate_bias},
    {Role::memory_out, "memory_out", embd, inner, "", nullptr},
    {Role::state_z, "ssm_in", inner, embd, "ssm_bias", kAllBias},
    {Role::state_x, "ssm_in", conv, embd, "ssm_bias", kAllBias},
    {Role::state_steps, "ssm_in", steps, embd, "ssm_bias", kAllBias},
    {Role::state_low, "ssm_x", steps, inner, "", nullptr},
    {Role::state_b, "ssm_x", state, inner, "", nullptr},
    {Role::state_c, "ssm_x", state, inner, "", nullptr},
    {Role::state_up, "ssm_dt", inner, steps, "", nullptr},
    {Role::state_out, "ssm_out", embd, inner, "ssm_out_bias", kAllBias},
    {Role::time_r, "time_mix_receptance", inner, embd, "", nullptr},
    {Role::time_k, "time_mix_key", inner, embd, "", nullptr},
    {Role::time_v, "time_mix_value", inner, embd, "", nullptr},
    {Role::time_g, "time_mix_gate", inner, embd, "", nullptr},
    {Role::time_out, "time_mix_output", embd, inner, "", nullptr},
    {Role::up, "ffn_up", ff, embd, "mlp_bias", kAllBias},
    {Role::gate, "ffn_gate", ff, embd, "mlp_bias", kAllBias},
    {Role::down, "ffn_down", embd, ff, "mlp_bias", kAllBias},
    {Role::channel_k, "channel_mix_key", ff, embd, "", nullptr},
    {Role::channel_v, "channel_mix_value", embd, ff, "", nullptr},
    {Role::channel_r, "channel_mix_receptance", embd, embd, "", nullptr},
    {Role::router, "ffn_gate_inp", experts, embd, "expert_bias", kExpertBias},
    {Role::expert_low, "ffn_latent_down", expert_row, embd, "mlp_bias", kAllBias},
    {Role::expert_up, "ffn_up_exps", expert_ff, expert_row, "expert_bias", kExpertBias, "ffn_up"},
    {Role::expert_gate, "ffn_gate_exps", expert_ff, expert_row, "expert_bias", kExpertBias,
     "ffn_gate"},
    {Role::expert_down, "ffn_down_exps", expert_row, expert_ff, "expert_bias", kExpertBias,
     "ffn_down"},
    {Role::expert_high, "ffn_latent_up", embd, expert_row, "mlp_bias", kAllBias},
    {Role::shared_up, "ffn_up_shexp", shared_ff, embd, "mlp_bias", kAllBias},
    {Role::shared_gate, "ffn_gate_shexp", shared_ff, embd, "mlp_bias", kAllBias},
    {Role::shared_down, "ffn_down_shexp", embd, shared_ff, "mlp_bias", kAllBias},
    {Role::shared_router, "ffn_gate_inp_shexp", one, embd, "expert_bias", kExpertBias},
    {Role::input_gate, "inp_gate", input, embd, "", nullptr},
    {Role::input_out, "proj", embd, input, "", nullptr},
    {Role::stream_router, "altup_router", streams, embd, "", nullptr},
    {Role::stream_predict, "altup_predict_coef", stream_pairs, streams, "", nullptr},
    {Role::stream_correct, "altup_correct_coef", streams, streams, "", nullptr},
    {Role::beside_low, "laurel_l", beside_rank, embd, "", nullptr},
    {Role::beside_high, "laurel_r", embd, beside_rank, "", nullptr},
    {Role::q_low, "attn_q_adapter_a", attn_rank, attn_in, "", nullptr},
    {Role::q_high, "attn_q_adapter_b", q, attn_rank, "", nullptr},
    {Role::k_low, "attn_k_adapter_a", attn_rank, attn_in, "", nullptr},
    {Role::k_high, "attn_k_adapter_b", k, attn_rank, "", nullptr},
    {Role::v_low, "attn_v_adapter_a", attn_rank, attn_in, "", nullptr},
    {Role::v_high, "attn_v_adapter_b", v, attn_rank, "", nullptr},
    {Role::ff_low, "ffn_adapter_a", ff_rank, embd, "", nullptr},
    {Role::gate_high, "ffn_gate_adapter_b", ff, ff_rank, "", nullptr},
    {Role::up_high, "ffn_up_adapter_b", ff, ff_rank, "", nullptr},
    {Role::block_out, "block_out", embd, embd, "", nullptr},
};
static_assert(std::size(kRoleRows) == kRoles);

constexpr NormRow kNormRows[] = {
    {NormRole::attn, "attn_norm", attn_in},
    {NormRole::q, "attn_q_norm", q_norm},
    {NormRole::k, "attn_k_norm", k_norm},
    {NormRole::v, "attn_v_norm", v_norm},
    {NormRole::q_a, "attn_q_a_norm", q_rank},
    {NormRole::kv_a, "attn_kv_a_norm", kv_rank},
    {NormRole::index_k, "indexer.k_norm", index_k},
    {NormRole::attn_sub, "attn_sub_norm", attn},
    {NormRole::attn_post, "post_attention_norm", embd},
    {NormRole::attn_sum, "attn_output_norm", embd},
    {NormRole::attn_sum_again, "attn_norm_2", embd},
    {NormRole::cross, "cross_attn_norm", embd},
    {NormRole::cross_post, "post_cross_attn_norm", embd},
    {NormRole::ffn, "ffn_norm", embd},
    {NormRole::ffn_sub, "ffn_sub_norm", ff},
    {NormRole::ffn_post, "post_ffw_norm", embd},
    {NormRole::ffn_sum, "layer_output_norm", embd},
    {NormRole::dense_post, "post_ffw_norm_1", embd},
    {NormRole::router, "ffn_gate_inp.scale", embd},
    {NormRole::experts, "pre_ffw_norm_2", embd},
    {NormRole::experts_post, "post_ffw_norm_2", embd},
    {NormRole::input_post, "post_norm", embd},
    {NormRole::stream_router, "altup_router_norm", embd},
    {NormRole::beside_post, "laurel_post_norm", embd},
    {NormRole::scan, "ssm_pre_norm", embd},
};
static_assert(std::size(kNormRows) == kNormRoles);

constexpr Role kQkv[] = {Role::q, Role::k, Role::v};
constexpr Role kKvA[] = {Role::kv_a, Role::k_rope};
constexpr Role kGateUp[] = {Role::gate, Role::up};
constexpr Role kSharedGateUp[] = {Role::shared_gate, Role::shared_up};
constexpr Role kQueryGate[] = {Role::q, Role::attn_gate};
constexpr Role kDeltaInGate[] = {Role::delta_in, Role::delta_gate};
constexpr Role kBetaDecay[] = {Role::beta, Role::decay};
constexpr Role kHeadScan[] = {Role::state_z, Role::state_x, Role::state_steps};
constexpr Role kColumnScan[] = {Role::state_x, Role::state_z};
constexpr Role kColumnInputs[] = {Role::state_low, Role::state_b, Role::state_c};
constexpr FusedRow kFusedRows[] = {{"attn_qkv", kQkv, Role::q},
                                   {"attn_kv_a_mqa", kKvA, Role::kv_a},
                                   {"ssm_in", kHeadScan, Role::state_steps},
                                   {"ssm_in", kColumnScan, Role::state_x},
                                   {"ssm_x", kColumnInputs, Role::state_low},
                                   {"ffn_up", kGateUp, Role::gate},
                                   {"ffn_up_shexp", kSharedGateUp, Role::shared_gate},
                                   {"attn_q", kQueryGate, Role::attn_gate, FusedOrder::heads},
                                   {"ssm_in", kDeltaInGate, Role::delta_in, FusedOrder::key_heads},
                                   {"ssm_ba", kBetaDecay, Role::beta, FusedOrder::key_heads}};

}  // namespace

std::span<const RoleRow> role_rows() { return kRoleRows; }
std::span<const NormRow> norm_rows() { return kNormRows; }
std::span<const FusedRow> fused_rows() { return kFusedRows; }

}  // namespace ruv
