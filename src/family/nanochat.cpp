// nanochat: no norm has weights, embeddings are normalised, heads turn backwards before they are
// normalised, a plain feed-forward with squared ReLU.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "nanochat",
                                 .class_names = "NanoChatForCausalLM NanoChatModel",
                                 .max_positions = 2048,
                                 .n_heads = 6,
                                 .null_kv_heads = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias"}};
constexpr TensorName kNames[] = {
    {"blk.{}.ffn_up", "model.layers.{}.mlp.fc1"},
    {"blk.{}.ffn_down", "model.layers.{}.mlp.fc2"},
};
}  // namespace

constinit const FamilyRecord nanochat{.name = "nanochat",
                                      .published = "nanochat d20 and d32",
                                      .block = {.norm_weights = false,
                                                .embd_norm = true,
                                                .qk_norm = QkNorm::heads,
                                                .rotates_first = true,
                                                .gated = false,
                                                .act = Act::relu2},
                                      .final_softcap = {.computed = true, .otherwise = 15},
                                      .turns_backwards = true,
                                      .own_names = kNames,
                                      .classes = kClasses};
}  // namespace ruv::family
