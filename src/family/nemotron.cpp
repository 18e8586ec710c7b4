// Nemotron and Minitron: layer norms stored less 1, a plain feed-forward with squared ReLU, half of
// each head rotated.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "nemotron",
                                 .class_names = "NemotronForCausalLM NemotronModel",
                                 .norm_eps_key = "norm_eps",
                                 .norm_eps = 1e-5,
                                 .max_positions = 4096,
                                 .n_heads = 48,
                                 .null_kv_heads = true,
                                 .rope = HfRope::partial,
                                 .rotary_part = 0.5,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .mlp_bias = "mlp_bias"}};
}

constinit const FamilyRecord nemotron{
    .name = "nemotron",
    .published = "Minitron 4B and 8B, Nemotron-4 340B",
    .block = {.norm = Norm::layer, .gated = false, .act = Act::relu2},
    .norms_minus_one = true,
    .classes = kClasses};
}  // namespace ruv::family
