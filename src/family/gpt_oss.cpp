// GPT-OSS: heads with sinks, every other layer with a window, and experts with biases whose gates
// are limited.
#include "family/families.h"

namespace ruv::family {
namespace {
// The activation is fixed; its slope is that of quick GELU.
constexpr NeutralKey kNeutral[] = {{"swiglu_alpha", " 1.702 "}};
constexpr std::string_view kRope = R"({"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0,
    "beta_slow": 1.0, "truncate": false, "original_max_position_embeddings": 4096})";
// Experts are as wide as
// intermediate_size, and the weights of a row's experts are the softmax of the chosen numbers.
constexpr HfClass kClasses[] = {{.model_type = "gpt_oss",
                                 .class_names = "GptOssForCausalLM GptOssModel",
                                 .act_key = "",
                                 .act = "quick_gelu",
                                 .norm_eps = 1e-5,
                                 .max_positions = 131072,
                                 .n_heads = 64,
                                 .n_kv_heads = 8,
                                 .null_kv_heads = true,
                                 .head_dim = 64,
                                 .null_head_dim = true,
                                 .windows = HfWindows::periodic,
                                 .window = 128,
                                 .default_rope = kRope,
                                 .rope_base = 150000,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .biases_by_default = true,
                                 .experts = {.count = {"num_local_experts num_experts", 128},
                                             .used = {"num_experts_per_tok", 4},
                                             .gate_limit_key = "swiglu_limit",
                                             .gate_limit = 7},
                                 .without_effect = "hidden_act output_router_logits "
                                                   "router_aux_loss_coef",
                                 .neutral = kNeutral}};
// The norm before the feed-forward has another name in GGUF files than in other families. Columns
// of the first matrix belong to gate and up by turns.
constexpr TensorName kNames[] = {
    {.gguf = "blk.{}.attn_sinks.weight", .hf = "model.layers.{}.self_attn.sinks", .whole = true},
    {"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"},
    {"blk.{}.ffn_gate_inp", "model.layers.{}.mlp.router"},
    {.gguf = "blk.{}.ffn_gate_exps.weight",
     .hf = "model.layers.{}.mlp.experts.gate_up_proj",
     .conv1d = true,
     .whole = true,
     .stack = ExpertStack::stacked,
     .other = "blk.{}.ffn_up_exps.weight",
     .by_turns = true},
    {.gguf = "blk.{}.ffn_gate_exps.bias",
     .hf = "model.layers.{}.mlp.experts.gate_up_proj_bias",
     .whole = true,
     .stack = ExpertStack::stacked,
     .other = "blk.{}.ffn_up_exps.bias",
     .by_turns = true},
    {.gguf = "blk.{}.ffn_down_exps.weight",
     .hf = "model.layers.{}.mlp.experts.down_proj",
     .conv1d = true,
     .whole = true,
     .stack = ExpertStack::stacked},
    {.gguf = "blk.{}.ffn_down_exps.bias",
     .hf = "model.layers.{}.mlp.experts.down_proj_bias",
     .whole = true,
     .stack = ExpertStack::stacked},
};
}  // namespace

constinit const FamilyRecord gpt_oss{.name = "gpt-oss",
                                     .published = "GPT-OSS 20B and 120B",
                                     .block = {.expert_bias = true,
                                               .act = Act::quick_gelu,
                                               .windows = Windows::periodic,
                                               .window_period = 2,
                                               .sinks = true},
                                     .experts = {.computed = true, .gate_limit = 7, .up_shift = 1},
                                     .ffn_norm = "post_attention_norm",
                                     .own_names = kNames,
                                     .classes = kClasses};
}  // namespace ruv::family
