// Apertus: heads normalised, a plain feed-forward with xIELU, whose numbers each layer learns.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr std::string_view kRope = R"({"rope_type": "llama3", "rope_theta": 12000000.0,
    "factor": 8.0, "original_max_position_embeddings": 8192, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0})";
constexpr HfClass kClasses[] = {{.model_type = "apertus",
                                 .class_names = "ApertusForCausalLM ApertusModel",
                                 .act = "xielu",
                                 .norm_eps = 1e-5,
                                 .max_positions = 65536,
                                 .n_heads = 32,
                                 .null_kv_heads = true,
                                 .default_rope = kRope,
                                 .rope_base = 12e6,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias"}};
constexpr TensorName kNames[] = {
    {"blk.{}.attn_norm", "model.layers.{}.attention_layernorm"},
    {"blk.{}.ffn_norm", "model.layers.{}.feedforward_layernorm"},
    whole("blk.{}.xielu.alpha_p", "model.layers.{}.mlp.act_fn.alpha_p"),
    whole("blk.{}.xielu.alpha_n", "model.layers.{}.mlp.act_fn.alpha_n"),
    whole("blk.{}.xielu.beta", "model.layers.{}.mlp.act_fn.beta"),
    whole("blk.{}.xielu.eps", "model.layers.{}.mlp.act_fn.eps"),
};
}  // namespace

constinit const FamilyRecord apertus{
    .name = "apertus",
    .published = "Apertus 8B and 70B",
    .block = {.qk_norm = QkNorm::heads, .gated = false, .xielu = true},
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
