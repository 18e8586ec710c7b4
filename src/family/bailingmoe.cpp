// Ling (Bailing): a fused projection of queries, keys and values; experts by softmax beside those
// that all rows share.
#include "family/bailing.h"
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "bailing_moe",
                                 .class_names = "BailingMoeForCausalLM BailingMoeModel",
                                 .norm_eps = 1e-5,
                                 .max_positions = 16384,
                                 .n_heads = 16,
                                 .qkv_bias = "use_qkv_bias",
                                 .experts = bailing_experts(),
                                 .without_effect = "embedding_dropout output_dropout "
                                                   "max_window_layers output_router_logits",
                                 .neutral = kBailingNeutral}};
}  // namespace

constinit const FamilyRecord bailingmoe{
    .name = "bailingmoe",
    .published = "Ling-lite 16.8B, Ling-plus 290B, Ling-Coder-lite",
    .experts = {.computed = true, .score = RouterScore::softmax, .sum_added = 1e-20F},
    .neighbour_rows = true,
    .fused_qkv = true,
    .own_names = std::span(kBailingNames).first<kBailingFirstNames>(),
    .classes = kClasses};
}  // namespace ruv::family
