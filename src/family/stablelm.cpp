// StableLM 2 and 3B: layer norms, a part of each head rotated, and in larger models attention and
// feed-forward beside each other. Norms of single heads are refused.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kNeutral[] = {{"qk_layernorm", "false"}};
constexpr HfClass kClasses[] = {{.model_type = "stablelm",
                                 .class_names = "StableLmForCausalLM StableLmModel",
                                 .norm_eps_key = "layer_norm_eps",
                                 .norm_eps = 1e-5,
                                 .max_positions = 4096,
                                 .n_heads = 32,
                                 .n_kv_heads = 32,
                                 .ignores_head_dim = true,
                                 .rope = HfRope::partial,
                                 .rotary_part = 0.25,
                                 .qkv_bias = "use_qkv_bias",
                                 .parallel_key = "use_parallel_residual",
                                 .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord stablelm{.name = "stablelm",
                                      .published =
                                          "StableLM 3B 4E1T, StableLM 2 1.6B, Stable Code "
                                          "3B",
                                      .block = {.norm = Norm::layer, .shared_norm = true},
                                      .gguf_keys = "use_parallel_residual",
                                      .classes = kClasses};
}  // namespace ruv::family
