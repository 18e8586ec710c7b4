// Orion: Llama with layer norms.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "orion",
                                 .class_names = "OrionForCausalLM OrionModel",
                                 .norm_eps = 1e-5,
                                 .max_positions = 4096,
                                 .n_heads = 40,
                                 .n_kv_heads = 40,
                                 .ignores_head_dim = true,
                                 .without_effect = "pretraining_tp"}};
}  // namespace

constinit const FamilyRecord orion{
    .name = "orion", .published = "Orion 14B", .block = {.norm = Norm::layer}, .classes = kClasses};
}  // namespace ruv::family
