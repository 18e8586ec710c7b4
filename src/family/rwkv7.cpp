// RWKV 7: matrices of keys and values that are corrected by a delta rule with rates of its own,
// decays, rates and gates by matrices of low rank, and values mixed with those of the first layer.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "emb"},
    {"token_embd_norm", "blocks.0.ln0"},
    {"output_norm", "ln_out"},
    {"output", "head"},
    {"blk.{}.attn_norm", "blocks.{}.ln1"},
    {"blk.{}.attn_norm_2", "blocks.{}.ln2"},
    whole("blk.{}.time_mix_lerp_fused.weight", "blocks.{}.att.x_rwkvag"),
    whole("blk.{}.time_mix_w0.weight", "blocks.{}.att.w0"),
    whole("blk.{}.time_mix_w1.weight", "blocks.{}.att.w1"),
    whole("blk.{}.time_mix_w2.weight", "blocks.{}.att.w2"),
    whole("blk.{}.time_mix_a0.weight", "blocks.{}.att.a0"),
    whole("blk.{}.time_mix_a1.weight", "blocks.{}.att.a1"),
    whole("blk.{}.time_mix_a2.weight", "blocks.{}.att.a2"),
    whole("blk.{}.time_mix_v0.weight", "blocks.{}.att.v0"),
    whole("blk.{}.time_mix_v1.weight", "blocks.{}.att.v1"),
    whole("blk.{}.time_mix_v2.weight", "blocks.{}.att.v2"),
    whole("blk.{}.time_mix_g1.weight", "blocks.{}.att.g1"),
    whole("blk.{}.time_mix_g2.weight", "blocks.{}.att.g2"),
    whole("blk.{}.time_mix_k_k.weight", "blocks.{}.att.k_k"),
    whole("blk.{}.time_mix_k_a.weight", "blocks.{}.att.k_a"),
    whole("blk.{}.time_mix_r_k.weight", "blocks.{}.att.r_k"),
    {"blk.{}.time_mix_key", "blocks.{}.att.key"},
    {"blk.{}.time_mix_value", "blocks.{}.att.value"},
    {"blk.{}.time_mix_receptance", "blocks.{}.att.receptance"},
    {"blk.{}.time_mix_output", "blocks.{}.att.output"},
    {"blk.{}.time_mix_ln", "blocks.{}.att.ln_x"},
    whole("blk.{}.channel_mix_lerp_k.weight", "blocks.{}.ffn.x_k"),
    {"blk.{}.channel_mix_key", "blocks.{}.ffn.key"},
    {"blk.{}.channel_mix_value", "blocks.{}.ffn.value"},
};
}  // namespace

constinit const FamilyRecord rwkv7{
    .name = "rwkv7",
    .published = "RWKV-7 World (Goose)",
    .block = {.norm = Norm::layer,
              .embd_norm = true,
              .mixers = Mixers::time_mix,
              .time_mix = TimeMix::corrected},
    .head_norm_eps = 64e-5,
    // The ranks are those of the tensors.
    .gguf_keys =
        " wkv.head_size attention.group_norm_epsilon attention.decay_lora_rank "
        "attention.iclr_lora_rank attention.value_residual_mix_lora_rank "
        "attention.gate_lora_rank token_shift_count ",
    .ffn_norm = "attn_norm_2",
    .usual_names = false,
    .own_names = kNames,
    .ggmf = {.sign = "blocks.0.att.r_k", .heads = "blocks.0.att.r_k"}};
}  // namespace ruv::family
