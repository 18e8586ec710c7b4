// Jais 2: layer norms, biases everywhere, a plain feed-forward with squared ReLU.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "jais2",
                                 .class_names = "Jais2ForCausalLM Jais2Model",
                                 .heads_divide = true,
                                 .norm_eps_key = "layer_norm_eps",
                                 .norm_eps = 1e-5,
                                 .max_positions = 8192,
                                 .n_heads = 26,
                                 .null_kv_heads = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .mlp_bias = "mlp_bias",
                                 .biases_by_default = true}};
}  // namespace

constinit const FamilyRecord jais2{
    .name = "jais2",
    .published = "Jais 2 8B and 70B",
    .block = {.norm = Norm::layer, .gated = false, .act = Act::relu2},
    .classes = kClasses};
}  // namespace ruv::family
