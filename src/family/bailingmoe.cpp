// Ling (Bailing): a fused projection of queries, keys and values; experts by softmax beside those
// that all rows share.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "model.word_embeddings"},
    {"blk.{}.attn_qkv", "model.layers.{}.attention.query_key_value"},
    {"blk.{}.attn_output", "model.layers.{}.attention.dense"},
};
// The output matrix and its softmax in forms of their own; a router that sees kinds of media.
constexpr NeutralKey kNeutral[] = {
    {"use_bias", " false "},          {"norm_head", " false null "},
    {"norm_softmax", " false null "}, {"multi_gate", " false null "},
    {"image_patch_token", " null "},  {"audio_patch_token", " null "}};
constexpr HfClass kClasses[] = {{.model_type = "bailing_moe",
                                 .class_names = "BailingMoeForCausalLM BailingMoeModel",
                                 .norm_eps = 1e-5,
                                 .max_positions = 16384,
                                 .n_heads = 16,
                                 .qkv_bias = "use_qkv_bias",
                                 .experts = {.count = {"num_experts"},
                                             .used = {"num_experts_per_tok"},
                                             .width = {"moe_intermediate_size"},
                                             .layers = HfExpertLayers::after_first,
                                             .first_dense = {"first_k_dense_replace"},
                                             .normalises_key = "norm_topk_prob",
                                             .shared_count = {"num_shared_experts"}},
                                 .without_effect = "embedding_dropout output_dropout "
                                                   "max_window_layers output_router_logits",
                                 .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord bailingmoe{
    .name = "bailingmoe",
    .published = "Ling-lite 16.8B, Ling-plus 290B, Ling-Coder-lite",
    .experts = {.computed = true, .score = RouterScore::softmax, .sum_added = 1e-20F},
    .neighbour_rows = true,
    .fused_qkv = true,
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
