// Granite 3: Llama with scales of embeddings, scores, logits and of what each block adds.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "granite",
                                 .class_names = "GraniteForCausalLM GraniteModel",
                                 .max_positions = 2048,
                                 .null_kv_heads = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .mlp_bias = "mlp_bias",
                                 .embed_scale = "embedding_multiplier",
                                 .residual_scale = "residual_multiplier",
                                 .attn_scale = "attention_multiplier",
                                 .logit_scale = "logits_scaling"}};
}

constinit const FamilyRecord granite{.name = "granite",
                                     .published = "Granite 3.0 to 3.3 2B and 8B",
                                     .divides_logits = true,
                                     .gguf_keys = "embedding_scale residual_scale logit_scale",
                                     .neighbour_rows = true,
                                     .classes = kClasses};
}  // namespace ruv::family
