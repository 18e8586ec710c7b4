// Helium: Llama whose heads rotate in pairs of neighbours.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "helium",
                                 .class_names = "HeliumForCausalLM HeliumModel",
                                 .norm_eps = 1e-8,
                                 .max_positions = 4096,
                                 .n_heads = 20,
                                 .n_kv_heads = 20,
                                 .head_dim = 128,
                                 .rope_base = 100000,
                                 .qkv_bias = "attention_bias",
                                 .mlp_bias = "mlp_bias"}};
}

constinit const FamilyRecord helium{
    .name = "helium", .published = "Helium 1 2B", .neighbour_pairs = true, .classes = kClasses};
}  // namespace ruv::family
