// ERNIE 4.5 (dense): Llama whose heads rotate in pairs of neighbours.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "ernie4_5",
                                 .class_names = "Ernie4_5ForCausalLM Ernie4_5Model",
                                 .norm_eps = 1e-5,
                                 .max_positions = 131072,
                                 .n_heads = 16,
                                 .n_kv_heads = 2,
                                 .null_kv_heads = true,
                                 .head_dim = 128,
                                 .null_head_dim = true,
                                 .rope_base = 500000,
                                 .qkv_bias = "use_bias",
                                 .output_bias = "use_bias",
                                 .mlp_bias = "use_bias",
                                 .tied = true}};
}

constinit const FamilyRecord ernie4_5{.name = "ernie4_5",
                                      .published = "ERNIE 4.5 0.3B",
                                      .neighbour_pairs = true,
                                      .classes = kClasses};
}  // namespace ruv::family
