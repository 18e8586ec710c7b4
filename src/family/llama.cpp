// Llama 2 and 3, Mistral and Ministral (whose files name a window), and Mixtral, which has experts.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kPlain[] = {{"clip_qkv", " null "}, {"use_sliding_window", " false "}};
constexpr HfClass kClasses[] = {
    {.model_type = "llama",
     .class_names = "LlamaForCausalLM LlamaModel LLaMAForCausalLM",
     .max_positions = 2048,
     .null_kv_heads = true,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .mlp_bias = "mlp_bias",
     .without_effect = "pretraining_tp"},
    {.model_type = "internlm3",
     .class_names = "InternLM3ForCausalLM InternLM3Model",
     .norm_eps = 1e-5,
     .max_positions = 32768,
     .n_kv_heads = 2,
     .null_kv_heads = true,
     .head_dim = 128,
     .null_head_dim = true,
     .qkv_bias = "qkv_bias attention_bias",
     .output_bias = "qkv_bias attention_bias",
     .mlp_bias = "bias mlp_bias"},
    {.model_type = "mistral",
     .class_names = "MistralForCausalLM MistralModel",
     .max_positions = 131072,
     .n_kv_heads = 8,
     .windows = HfWindows::all,
     .window = 4096},
    {.model_type = "ministral",
     .class_names = "MinistralForCausalLM MinistralModel",
     .max_positions = 131072,
     .n_kv_heads = 8,
     .null_kv_heads = true,
     .null_head_dim = true,
     .windows = HfWindows::listed,
     .window = 4096},
    {.model_type = "iquestcoder",
     .class_names = "IQuestCoderForCausalLM IQuestCoderModel",
     .heads_divide = true,
     .norm_eps = 1e-5,
     .max_positions = 131072,
     .n_kv_heads = 8,
     .null_kv_heads = true,
     .head_dim = 128,
     .null_head_dim = true,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .mlp_bias = "mlp_bias",
     .neutral = kPlain},
    {.model_type = "mixtral",
     .class_names = "MixtralForCausalLM MixtralModel",
     .norm_eps = 1e-5,
     .max_positions = 131072,
     .n_kv_heads = 8,
     .windows = HfWindows::all,
     .rope_base = 1e6,
     .experts = {.count = {"num_experts num_local_experts", 8}, .used = {"num_experts_per_tok", 2}},
     .without_effect = "output_router_logits router_aux_loss_coef router_jitter_noise"},
};
constexpr TensorName kNames[] = {
    {"blk.{}.ffn_gate_inp", "model.layers.{}.block_sparse_moe.gate"},
    {"blk.{}.ffn_gate.{}", "model.layers.{}.block_sparse_moe.experts.{}.w1"},
    {"blk.{}.ffn_down.{}", "model.layers.{}.block_sparse_moe.experts.{}.w2"},
    {"blk.{}.ffn_up.{}", "model.layers.{}.block_sparse_moe.experts.{}.w3"},
};
}  // namespace

constinit const FamilyRecord llama{.name = "llama",
                                   .published =
                                       "Llama 1 to 3.3, Code Llama, TinyLlama, SmolLM 2, "
                                       "Yi, Mistral 7B, Mixtral 8x7B and 8x22B, "
                                       "Ministral 8B, InternLM 3, IQuest Coder 40B",
                                   .block = {.windows = Windows::all},
                                   .experts = {.computed = true},
                                   // The converter of this architecture alone moves rows.
                                   .neighbour_rows = true,
                                   .own_names = kNames,
                                   .classes = kClasses};
}  // namespace ruv::family
