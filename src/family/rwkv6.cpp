// RWKV 6: as RWKV 5, with decays and shares of the row before that depend on the rows.
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
    whole("blk.{}.time_mix_lerp_x.weight", "blocks.{}.att.time_maa_x"),
    whole("blk.{}.time_mix_lerp_w.weight", "blocks.{}.att.time_maa_w"),
    whole("blk.{}.time_mix_lerp_k.weight", "blocks.{}.att.time_maa_k"),
    whole("blk.{}.time_mix_lerp_v.weight", "blocks.{}.att.time_maa_v"),
    whole("blk.{}.time_mix_lerp_r.weight", "blocks.{}.att.time_maa_r"),
    whole("blk.{}.time_mix_lerp_g.weight", "blocks.{}.att.time_maa_g"),
    whole("blk.{}.time_mix_w1.weight", "blocks.{}.att.time_maa_w1"),
    whole("blk.{}.time_mix_w2.weight", "blocks.{}.att.time_maa_w2"),
    whole("blk.{}.time_mix_decay.weight", "blocks.{}.att.time_decay"),
    whole("blk.{}.time_mix_decay_w1.weight", "blocks.{}.att.time_decay_w1"),
    whole("blk.{}.time_mix_decay_w2.weight", "blocks.{}.att.time_decay_w2"),
    whole("blk.{}.time_mix_first.weight", "blocks.{}.att.time_faaaa"),
    {"blk.{}.time_mix_key", "blocks.{}.att.key"},
    {"blk.{}.time_mix_value", "blocks.{}.att.value"},
    {"blk.{}.time_mix_receptance", "blocks.{}.att.receptance"},
    {"blk.{}.time_mix_gate", "blocks.{}.att.gate"},
    {"blk.{}.time_mix_output", "blocks.{}.att.output"},
    {"blk.{}.time_mix_ln", "blocks.{}.att.ln_x"},
    whole("blk.{}.channel_mix_lerp_k.weight", "blocks.{}.ffn.time_maa_k"),
    whole("blk.{}.channel_mix_lerp_r.weight", "blocks.{}.ffn.time_maa_r"),
    {"blk.{}.channel_mix_key", "blocks.{}.ffn.key"},
    {"blk.{}.channel_mix_value", "blocks.{}.ffn.value"},
    {"blk.{}.channel_mix_receptance", "blocks.{}.ffn.receptance"},
};
}  // namespace

constinit const FamilyRecord rwkv6{
    .name = "rwkv6",
    .published = "RWKV-6 World",
    .block = {.norm = Norm::layer,
              .embd_norm = true,
              .mixers = Mixers::time_mix,
              .time_mix = TimeMix::dynamic},
    .head_norm_eps = 64e-5,
    .gguf_keys =
        " wkv.head_size attention.group_norm_epsilon rescale_every_n_layers "
        "time_mix_extra_dim time_decay_extra_dim token_shift_count ",
    .ffn_norm = "attn_norm_2",
    .usual_names = false,
    .own_names = kNames,
    .ggmf = {.sign = "blocks.0.att.time_maa_x", .heads = "blocks.0.att.time_faaaa"}};
}  // namespace ruv::family
