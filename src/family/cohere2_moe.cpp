// Command A+: as Command A, with experts, beside which what all rows share counts half; dense
// layers before them have windows and positions of their own.
#include "family/families.h"

namespace ruv::family {
namespace {
// Another kind of norm.
constexpr NeutralKey kNeutral[] = {{"rms_norm_eps", " null "}};
constexpr HfClass kClasses[] = {
    {.model_type = "cohere2_moe",
     .class_names = "Cohere2MoeForCausalLM Cohere2MoeModel",
     .sizes = {.ff = "prefix_dense_intermediate_size intermediate_size"},
     .norm_eps_key = "layer_norm_eps",
     .norm_eps = 1e-5,
     .max_positions = 8192,
     .n_heads = 64,
     .null_kv_heads = true,
     .head_dim = 128,
     .windows = HfWindows::prefixed,
     .window = 4096,
     .period_key = "sliding_window_pattern",
     .prefix_period_key = "prefix_dense_sliding_window_pattern",
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .tied = true,
     .experts = {.count = {"num_experts", 8},
                 .used = {"num_experts_per_tok", 2},
                 .width = {"intermediate_size", 22528},
                 .layers = HfExpertLayers::types,
                 .first_dense = {"first_k_dense_replace"},
                 .normalises_key = "norm_topk_prob",
                 .score_key = "expert_selection_fn",
                 .chosen_softmax = true,
                 .shared_count = {"num_shared_experts"},
                 .combines_key = "shared_expert_combination_strategy"},
     .logit_scale = "logit_scale",
     .logit_scale_default = 0.0625,
     .without_effect = "output_router_logits",
     .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord cohere2_moe{.name = "cohere2_moe",
                                         .published = "Command A+",
                                         .block = {.norm = Norm::layer,
                                                   .norm_biases = false,
                                                   .parallel = true,
                                                   .shared_norm = true,
                                                   .windows = Windows::periodic,
                                                   .window_period = 4,
                                                   .only_windows_rotate = true},
                                         .experts = {.computed = true},
                                         .neighbour_pairs = true,
                                         .gguf_keys = "logit_scale",
                                         .classes = kClasses};
}  // namespace ruv::family
