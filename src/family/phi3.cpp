// Phi-3 and 3.5: Llama with fused projections and LongRoPE. Files of both kinds fuse q, k and v,
// and gate and up; a part of each head may be left unrotated.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "phi3",
                                 .class_names = "Phi3ForCausalLM Phi3Model",
                                 .norm_eps = 1e-5,
                                 .max_positions = 4096,
                                 .null_kv_heads = true,
                                 .windows = HfWindows::all,
                                 .rope = HfRope::longrope,
                                 .original_positions = 4096}};
}

constinit const FamilyRecord phi3{.name = "phi3",
                                  .published =
                                      "Phi-3 and 3.5 mini, Phi-3 medium, Phi-4, Phi-4 "
                                      "mini",
                                  .block = {.windows = Windows::all},
                                  // The chat template relies on it.
                                  .vocab = {.untrimmed_tokens = "<unk> <s> <|endoftext|>"},
                                  .fused_qkv = true,
                                  .fused_gate_up = true,
                                  .classes = kClasses};
}  // namespace ruv::family
