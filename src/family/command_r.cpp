// Cohere's Command R: attention and feed-forward read the same normalised stream. In the largest
// model each head of queries and keys has a norm with weights of its own.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "cohere",
                                 .class_names = "CohereForCausalLM CohereModel",
                                 .norm_eps_key = "layer_norm_eps",
                                 .norm_eps = 1e-5,
                                 .max_positions = 8192,
                                 .null_kv_heads = true,
                                 .rope_base = 500000,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .qk_norm_key = "use_qk_norm",
                                 .tied = true,
                                 .logit_scale = "logit_scale",
                                 .logit_scale_default = 0.0625}};
}  // namespace

constinit const FamilyRecord command_r{.name = "command-r",
                                       .published = "Command R and R+, Aya 23, Aya Expanse",
                                       .block = {.norm = Norm::layer,
                                                 .norm_biases = false,
                                                 .parallel = true,
                                                 .shared_norm = true,
                                                 .qk_norm = QkNorm::own_heads,
                                                 .qk_norm_optional = true},
                                       .neighbour_pairs = true,
                                       .gguf_keys = "logit_scale",
                                       .classes = kClasses};
}  // namespace ruv::family
