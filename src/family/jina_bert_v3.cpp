// Jina Embeddings 3: XLM-R with rotary positions.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"blk.{}.attn_q", "layers.{}.self_attn.q_proj"},
    {"blk.{}.attn_k", "layers.{}.self_attn.k_proj"},
    {"blk.{}.attn_v", "layers.{}.self_attn.v_proj"},
    {"blk.{}.attn_output", "layers.{}.self_attn.o_proj"},
    {"blk.{}.attn_output_norm", "layers.{}.post_attention_layernorm"},
    {"blk.{}.ffn_up", "layers.{}.mlp.fc1"},
    {"blk.{}.ffn_down", "layers.{}.mlp.fc2"},
    {"blk.{}.layer_output_norm", "layers.{}.post_mlp_layernorm"},
};
constexpr HfClass kClasses[] = {
    {.model_type = "jina_embeddings_v3",
     .class_names = "JinaEmbeddingsV3Model JinaEmbeddingsV3ForMaskedLM",
     .sizes = {.kv_heads = ""},
     .act = "gelu",
     .norm_eps_key = "layer_norm_eps",
     .norm_eps = 1e-5,
     .max_positions = 8194,
     .n_heads = 16,
     .rope_base = 20000,
     .tied = true,
     .token_types = 1,
     .classifier = {.class_names = "JinaEmbeddingsV3ForSequenceClassification",
                    .dense = "classifier.dense",
                    .out = "classifier.out_proj",
                    .act = "tanh"},
     .without_effect = "hidden_dropout_prob attention_probs_dropout_prob classifier_dropout"}};
}  // namespace

constinit const FamilyRecord jina_bert_v3{.name = "jina-bert-v3",
                                          .published = "Jina Embeddings 3, without its adapters",
                                          .block = {.norm = Norm::layer,
                                                    .embd_norm = true,
                                                    .norm_place = NormPlace::sum,
                                                    .bidirectional = true,
                                                    .token_types = true,
                                                    .qkv_bias = true,
                                                    .all_bias = true,
                                                    .gated = false,
                                                    .act = Act::gelu},
                                          .gguf_keys = " attention.causal ",
                                          .last_norm = "",
                                          .usual_names = false,
                                          .own_names = kNames,
                                          .base_prefix = "",
                                          .head_prefixes = "roberta.",
                                          .classes = kClasses};
}  // namespace ruv::family
