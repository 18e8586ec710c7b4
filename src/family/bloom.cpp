// BLOOM: ALiBi, a norm after the embedding, biases everywhere, a plain feed-forward four times as
// wide. Checkpoints keep queries, keys and values head by head.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "word_embeddings"},
    {"token_embd_norm", "word_embeddings_layernorm"},
    {"output_norm", "ln_f"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "h.{}.input_layernorm"},
    {"blk.{}.attn_qkv", "h.{}.self_attention.query_key_value"},
    {"blk.{}.attn_output", "h.{}.self_attention.dense"},
    {"blk.{}.ffn_norm", "h.{}.post_attention_layernorm"},
    {"blk.{}.ffn_up", "h.{}.mlp.dense_h_to_4h"},
    {"blk.{}.ffn_down", "h.{}.mlp.dense_4h_to_h"},
};
constexpr NeutralKey kNeutral[] = {{"apply_residual_connection_post_layernorm", " false "}};
constexpr HfClass kClasses[] = {
    {.model_type = "bloom",
     .class_names = "BloomForCausalLM BloomModel",
     .sizes = {.layers = "num_hidden_layers n_layer",
               .width = "n_embed hidden_size",
               .heads = "num_attention_heads n_head",
               .kv_heads = "",
               .ff = "",
               .positions = "seq_length"},
     .heads_divide = true,
     .act_key = "",
     .norm_eps_key = "layer_norm_epsilon",
     .norm_eps = 1e-5,
     .max_positions = 2048,
     .ignores_head_dim = true,
     .rope = HfRope::none,
     .tied = true,
     // How products were split over machines; names of older files.
     .without_effect =
         "pretraining_tp slow_but_exact attention_softmax_in_fp32 bias_dropout_fusion "
         "masked_softmax_fusion offset_alibi skip_bias_add skip_bias_add_qkv "
         "unk_token_id classifier_dropout",
     .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord bloom{.name = "bloom",
                                   .published = "BLOOM 560M to 176B, BLOOMZ",
                                   .block = {.norm = Norm::layer,
                                             .embd_norm = true,
                                             .positions = Positions::alibi,
                                             .qkv_bias = true,
                                             .all_bias = true,
                                             .gated = false,
                                             .act = Act::gelu_tanh},
                                   .gguf_keys = "attention.max_alibi_bias",
                                   .vocab = {.splits = "bloom"},
                                   .qkv_rows = QkvRows::by_key_head,
                                   .usual_names = false,
                                   .own_names = kNames,
                                   .classes = kClasses};
}  // namespace ruv::family
