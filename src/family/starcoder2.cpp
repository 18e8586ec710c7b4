// StarCoder2: layer norm, a plain feed-forward, biases everywhere or nowhere, RoPE and a window.
// use_bias counts for all projections and is true where the config is silent.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"blk.{}.ffn_up", "model.layers.{}.mlp.c_fc"},
    {"blk.{}.ffn_down", "model.layers.{}.mlp.c_proj"},
};
constexpr HfClass kClasses[] = {{.model_type = "starcoder2",
                                 .class_names = "Starcoder2ForCausalLM Starcoder2Model",
                                 .norm_eps_key = "norm_epsilon",
                                 .norm_eps = 1e-5,
                                 .max_positions = 4096,
                                 .n_heads = 24,
                                 .n_kv_heads = 2,
                                 .windows = HfWindows::all,
                                 .qkv_bias = "use_bias",
                                 .output_bias = "use_bias",
                                 .mlp_bias = "use_bias",
                                 .biases_by_default = true,
                                 .tied = true}};
}  // namespace

constinit const FamilyRecord starcoder2{
    .name = "starcoder2",
    .published = "StarCoder2 3B, 7B and 15B",
    .block = {.norm = Norm::layer, .gated = false, .act = Act::gelu_tanh, .windows = Windows::all},
    .vocab = {.splits = "starcoder"},
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
