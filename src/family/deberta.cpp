// DeBERTa 2 and 3: BERT whose scores have products added, of queries with keys of distances and of
// keys with queries of distances (He et al., 2021).
#include "family/encoder_record.h"
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"position_embd", "embeddings.position_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"rel_embd", "encoder.rel_embeddings"},
    {"rel_embd_norm", "encoder.LayerNorm"},
    {"blk.{}.attn_q", "encoder.layer.{}.attention.self.query_proj"},
    {"blk.{}.attn_k", "encoder.layer.{}.attention.self.key_proj"},
    {"blk.{}.attn_v", "encoder.layer.{}.attention.self.value_proj"},
    {"blk.{}.attn_pos_q", "encoder.layer.{}.attention.self.pos_query_proj"},
    {"blk.{}.attn_pos_k", "encoder.layer.{}.attention.self.pos_key_proj"},
    {"blk.{}.attn_output", "encoder.layer.{}.attention.output.dense"},
    {"blk.{}.attn_output_norm", "encoder.layer.{}.attention.output.LayerNorm"},
    {"blk.{}.ffn_up", "encoder.layer.{}.intermediate.dense"},
    {"blk.{}.ffn_down", "encoder.layer.{}.output.dense"},
    {"blk.{}.layer_output_norm", "encoder.layer.{}.output.LayerNorm"},
};
constexpr NeutralKey kNeutral[] = {
    {"conv_kernel_size", " 0 "}, {"is_decoder", " false "}, {"attention_head_size", " null "}};
constexpr HfClass kClasses[] = {
    {.model_type = "deberta-v2",
     .class_names = "DebertaV2Model DebertaV2ForMaskedLM",
     .sizes = {.kv_heads = ""},
     .heads_divide = true,
     .width_again = "pooler_hidden_size",
     .act = "gelu",
     .norm_eps_key = "layer_norm_eps",
     .norm_eps = 1e-7,
     .max_positions = 512,
     .n_heads = 24,
     .ignores_head_dim = true,
     .rope = HfRope::none,
     .tied = true,
     .whole_embeddings = true,
     .classifier = {.class_names = "DebertaV2ForSequenceClassification",
                    .dense = "pooler.dense",
                    .out = "classifier",
                    .act = "gelu",
                    .act_key = "pooler_hidden_act"},
     .without_effect = "hidden_dropout_prob attention_probs_dropout_prob pooler_dropout legacy "
                       "cls_dropout conv_act conv_groups",
     .neutral = kNeutral}};
constexpr BlockSpec block() {
  BlockSpec block = kBertBlock;
  block.positions_optional = true;
  block.distances = Distances::products;
  return block;
}
}  // namespace

constinit const FamilyRecord deberta =
    encoder_record({.name = "deberta-v2",
                    .published = "DeBERTa v3, mDeBERTa, mxbai-rerank v1",
                    .block = block(),
                    .own_names = kNames,
                    .head_prefixes = "deberta.",
                    .classes = kClasses});
}  // namespace ruv::family
