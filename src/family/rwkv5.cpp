// RWKV 5 (5.2): matrices of keys and values that decay by key, and gated, normalised heads. Files
// of it are those of rwkv.cpp.
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
    whole("blk.{}.time_mix_decay.weight", "blocks.{}.att.time_decay"),
    whole("blk.{}.time_mix_first.weight", "blocks.{}.att.time_faaaa"),
    whole("blk.{}.time_mix_lerp_k.weight", "blocks.{}.att.time_mix_k"),
    whole("blk.{}.time_mix_lerp_v.weight", "blocks.{}.att.time_mix_v"),
    whole("blk.{}.time_mix_lerp_r.weight", "blocks.{}.att.time_mix_r"),
    whole("blk.{}.time_mix_lerp_g.weight", "blocks.{}.att.time_mix_g"),
    {"blk.{}.time_mix_key", "blocks.{}.att.key"},
    {"blk.{}.time_mix_value", "blocks.{}.att.value"},
    {"blk.{}.time_mix_receptance", "blocks.{}.att.receptance"},
    {"blk.{}.time_mix_gate", "blocks.{}.att.gate"},
    {"blk.{}.time_mix_output", "blocks.{}.att.output"},
    {"blk.{}.time_mix_ln", "blocks.{}.att.ln_x"},
    whole("blk.{}.channel_mix_lerp_k.weight", "blocks.{}.ffn.time_mix_k"),
    whole("blk.{}.channel_mix_lerp_r.weight", "blocks.{}.ffn.time_mix_r"),
    {"blk.{}.channel_mix_key", "blocks.{}.ffn.key"},
    {"blk.{}.channel_mix_value", "blocks.{}.ffn.value"},
    {"blk.{}.channel_mix_receptance", "blocks.{}.ffn.receptance"},
};
}  // namespace

constinit const FamilyRecord rwkv5{
    .name = "rwkv5",
    .published = "RWKV-5 World (5.2)",
    .block = {.norm = Norm::layer,
              .embd_norm = true,
              .mixers = Mixers::time_mix,
              .time_mix = TimeMix::matrices},
    .head_norm_eps = 1e-5,
    .gguf_keys = " wkv.head_size attention.group_norm_epsilon ",
    .ffn_norm = "attn_norm_2",
    .usual_names = false,
    .own_names = kNames,
    .ggmf = {.sign = "blocks.0.att.time_mix_g", .heads = "blocks.0.att.time_faaaa"}};
}  // namespace ruv::family
