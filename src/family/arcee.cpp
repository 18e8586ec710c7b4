// Arcee's AFM: Llama with a plain feed-forward with squared ReLU.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "arcee",
                                 .class_names = "ArceeForCausalLM ArceeModel",
                                 .norm_eps = 1e-5,
                                 .max_positions = 4096,
                                 .null_kv_heads = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .mlp_bias = "mlp_bias"}};
}

constinit const FamilyRecord arcee{.name = "arcee",
                                   .published = "AFM 4.5B",
                                   .block = {.gated = false, .act = Act::relu2},
                                   .neighbour_rows = true,
                                   .classes = kClasses};
}  // namespace ruv::family
