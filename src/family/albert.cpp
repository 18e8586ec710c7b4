// ALBERT: BERT whose layers have the weights of one, or of a few, and whose embeddings are narrower
// than the stream.
#include "family/encoder_record.h"
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"position_embd", "embeddings.position_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"token_embd_in", "encoder.embedding_hidden_mapping_in"},
    {"blk.{}.attn_q", "encoder.albert_layer_groups.{}.albert_layers.0.attention.query"},
    {"blk.{}.attn_k", "encoder.albert_layer_groups.{}.albert_layers.0.attention.key"},
    {"blk.{}.attn_v", "encoder.albert_layer_groups.{}.albert_layers.0.attention.value"},
    {"blk.{}.attn_output", "encoder.albert_layer_groups.{}.albert_layers.0.attention.dense"},
    {"blk.{}.attn_output_norm",
     "encoder.albert_layer_groups.{}.albert_layers.0.attention.LayerNorm"},
    {"blk.{}.ffn_up", "encoder.albert_layer_groups.{}.albert_layers.0.ffn"},
    {"blk.{}.ffn_down", "encoder.albert_layer_groups.{}.albert_layers.0.ffn_output"},
    {"blk.{}.layer_output_norm",
     "encoder.albert_layer_groups.{}.albert_layers.0.full_layer_layer_norm"},
};
constexpr NeutralKey kNeutral[] = {{"inner_group_num", " 1 "},
                                   {"position_embedding_type", " \"absolute\" "}};
constexpr HfClass kClasses[] = {
    {.model_type = "albert",
     .class_names = "AlbertModel AlbertForMaskedLM AlbertForPreTraining",
     .sizes = {.kv_heads = ""},
     .act = "gelu_new",
     .norm_eps_key = "layer_norm_eps",
     .norm_eps = 1e-12,
     .max_positions = 512,
     .n_heads = 64,
     .ignores_head_dim = true,
     .rope = HfRope::none,
     .tied = true,
     .token_types = 2,
     .embedding_width = 128,
     .groups_key = "num_hidden_groups",
     .classifier = {.class_names = "AlbertForSequenceClassification",
                    .dense = "pooler",
                    .out = "classifier",
                    .act = "tanh"},
     .without_effect = "hidden_dropout_prob attention_probs_dropout_prob classifier_dropout_prob "
                       "down_scale_factor gap_size net_structure_type num_memory_blocks "
                       "layers_to_keep",
     .neutral = kNeutral}};
constexpr BlockSpec block() {
  BlockSpec block = kBertBlock;
  block.repeats_layers = true;
  block.act = Act::gelu_tanh;
  return block;
}
constexpr FamilyRecord record() {
  FamilyRecord own = encoder_record({.name = "albert",
                                     .published = "ALBERT base to xxlarge",
                                     .block = block(),
                                     .own_names = kNames,
                                     .head_prefixes = "albert.",
                                     .classes = kClasses});
  own.gguf_keys = " attention.causal layer_group_count ";
  return own;
}
}  // namespace

constinit const FamilyRecord albert = record();
}  // namespace ruv::family
