// Cohere's Command R: attention and feed-forward read the same normalised stream. The largest
// model's norms of single heads are refused.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kNeutral[] = {{"use_qk_norm", "false"}};
constexpr HfClass kClasses[] = {{.model_type = "cohere",
                                 .class_names = "CohereForCausalLM CohereModel",
                                 .norm_eps_key = "layer_norm_eps",
                                 .norm_eps = 1e-5,
                                 .max_positions = 8192,
                                 .null_kv_heads = true,
                                 .rope_base = 500000,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .tied = true,
                                 .logit_scale = "logit_scale",
                                 .logit_scale_default = 0.0625,
                                 .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord command_r{
    .name = "command-r",
    .published = "Command R, Aya 23, Aya Expanse",
    .block = {.norm = Norm::layer, .norm_biases = false, .parallel = true, .shared_norm = true},
    .neighbour_pairs = true,
    .gguf_keys = "logit_scale",
    .classes = kClasses};
}  // namespace ruv::family
