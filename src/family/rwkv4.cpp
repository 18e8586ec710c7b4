// RWKV 4: averages of values whose weights decay with their age, and feed-forwards that see the row
// before.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "rwkv",
                                 .class_names = "RwkvForCausalLM RwkvModel",
                                 .act_key = "",
                                 .norm_eps_key = "layer_norm_epsilon",
                                 .norm_eps = 1e-5,
                                 .max_positions = 1024,
                                 .rope = HfRope::none}};

// Names of transformers, then those that the weights were trained with.
constexpr TensorName kNames[] = {
    {"token_embd", "rwkv.embeddings"},
    {"token_embd_norm", "rwkv.blocks.0.pre_ln"},
    {"output_norm", "rwkv.ln_out"},
    {"output", "head"},
    {"blk.{}.attn_norm", "rwkv.blocks.{}.ln1"},
    {"blk.{}.attn_norm_2", "rwkv.blocks.{}.ln2"},
    whole("blk.{}.time_mix_decay.weight", "rwkv.blocks.{}.attention.time_decay"),
    whole("blk.{}.time_mix_first.weight", "rwkv.blocks.{}.attention.time_first"),
    whole("blk.{}.time_mix_lerp_k.weight", "rwkv.blocks.{}.attention.time_mix_key"),
    whole("blk.{}.time_mix_lerp_v.weight", "rwkv.blocks.{}.attention.time_mix_value"),
    whole("blk.{}.time_mix_lerp_r.weight", "rwkv.blocks.{}.attention.time_mix_receptance"),
    {"blk.{}.time_mix_key", "rwkv.blocks.{}.attention.key"},
    {"blk.{}.time_mix_value", "rwkv.blocks.{}.attention.value"},
    {"blk.{}.time_mix_receptance", "rwkv.blocks.{}.attention.receptance"},
    {"blk.{}.time_mix_output", "rwkv.blocks.{}.attention.output"},
    whole("blk.{}.channel_mix_lerp_k.weight", "rwkv.blocks.{}.feed_forward.time_mix_key"),
    whole("blk.{}.channel_mix_lerp_r.weight", "rwkv.blocks.{}.feed_forward.time_mix_receptance"),
    {"blk.{}.channel_mix_key", "rwkv.blocks.{}.feed_forward.key"},
    {"blk.{}.channel_mix_value", "rwkv.blocks.{}.feed_forward.value"},
    {"blk.{}.channel_mix_receptance", "rwkv.blocks.{}.feed_forward.receptance"},
    {"token_embd", "emb"},
    {"token_embd_norm", "blocks.0.ln0"},
    {"output_norm", "ln_out"},
    {"blk.{}.attn_norm", "blocks.{}.ln1"},
    {"blk.{}.attn_norm_2", "blocks.{}.ln2"},
    whole("blk.{}.time_mix_decay.weight", "blocks.{}.att.time_decay"),
    whole("blk.{}.time_mix_first.weight", "blocks.{}.att.time_first"),
    whole("blk.{}.time_mix_lerp_k.weight", "blocks.{}.att.time_mix_k"),
    whole("blk.{}.time_mix_lerp_v.weight", "blocks.{}.att.time_mix_v"),
    whole("blk.{}.time_mix_lerp_r.weight", "blocks.{}.att.time_mix_r"),
    {"blk.{}.time_mix_key", "blocks.{}.att.key"},
    {"blk.{}.time_mix_value", "blocks.{}.att.value"},
    {"blk.{}.time_mix_receptance", "blocks.{}.att.receptance"},
    {"blk.{}.time_mix_output", "blocks.{}.att.output"},
    whole("blk.{}.channel_mix_lerp_k.weight", "blocks.{}.ffn.time_mix_k"),
    whole("blk.{}.channel_mix_lerp_r.weight", "blocks.{}.ffn.time_mix_r"),
    {"blk.{}.channel_mix_key", "blocks.{}.ffn.key"},
    {"blk.{}.channel_mix_value", "blocks.{}.ffn.value"},
    {"blk.{}.channel_mix_receptance", "blocks.{}.ffn.receptance"},
};
}  // namespace

constinit const FamilyRecord rwkv4{.name = "rwkv4",
                                   .published = "RWKV-4 169M to 14B",
                                   .block = {.norm = Norm::layer,
                                             .embd_norm = true,
                                             .mixers = Mixers::time_mix,
                                             .time_mix = TimeMix::averages},
                                   .last_norm_eps = 1e-5F,
                                   .gguf_keys = " time_mix.inner_size rescale_every_n_layers ",
                                   .ffn_norm = "attn_norm_2",
                                   .usual_names = false,
                                   .own_names = kNames,
                                   .classes = kClasses,
                                   .ggmf = {.sign = "blocks.0.att.time_first"}};
}  // namespace ruv::family
