// Falcon: layer norms and a plain feed-forward beside attention, whose queries share one key head
// (7B) or a few (40B and 180B, which have a norm for each half). The RefinedWeb models have ALiBi
// and halves that follow each other.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "word_embeddings"},
    {"output_norm", "ln_f"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "h.{}.input_layernorm"},
    {"blk.{}.attn_norm", "h.{}.ln_mlp"},
    {"blk.{}.attn_norm_2", "h.{}.ln_attn"},
    {"blk.{}.attn_qkv", "h.{}.self_attention.query_key_value"},
    {"blk.{}.attn_output", "h.{}.self_attention.dense"},
    {"blk.{}.ffn_norm", "h.{}.post_attention_layernorm"},
    {"blk.{}.ffn_up", "h.{}.mlp.dense_h_to_4h"},
    {"blk.{}.ffn_down", "h.{}.mlp.dense_4h_to_h"},
};
constexpr HfClass kClasses[] = {
    {.model_type = "falcon",
     .class_names = "FalconForCausalLM FalconModel",
     .sizes = {.width = "n_embed hidden_size", .kv_heads = "num_kv_heads", .ff = "ffn_hidden_size"},
     .ff_is_optional = true,
     .heads_divide = true,
     .multi_query = "multi_query",
     .grouped_query = "new_decoder_architecture",
     .act_key = "activation",
     .act = "gelu",
     .norm_eps_key = "layer_norm_epsilon",
     .norm_eps = 1e-5,
     .max_positions = 2048,
     .n_heads = 71,
     .null_kv_heads = true,
     .ignores_head_dim = true,
     .alibi = "alibi",
     .qkv_bias = "bias",
     .output_bias = "bias",
     .mlp_bias = "bias",
     .tied = true,
     .parallel_key = "parallel_attn",
     // The norms that a file has say it.
     .without_effect = "num_ln_in_parallel_attn classifier_dropout _is_quantized"}};
}  // namespace

constinit const FamilyRecord falcon{.name = "falcon",
                                    .published = "Falcon 7B, 40B and 180B, Falcon-RW 1B",
                                    .block = {.norm = Norm::layer,
                                              .parallel = true,
                                              .shared_norm = true,
                                              .alibi_in_bf16 = true,
                                              .gated = false,
                                              .act = Act::gelu},
                                    .gguf_keys = "use_parallel_residual attention.max_alibi_bias",
                                    .second_norm = "attn_norm_2",
                                    .vocab = {.splits = "falcon"},
                                    .qkv_rows = QkvRows::by_key_head,
                                    .usual_names = false,
                                    .own_names = kNames,
                                    .classes = kClasses};
}  // namespace ruv::family
