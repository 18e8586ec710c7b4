// MPNet: BERT without token types, whose scores have a number of the head added for the distance.
#include "family/encoder_record.h"
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"position_embd", "embeddings.position_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"attn_rel_b", "encoder.relative_attention_bias"},
    {"blk.{}.attn_q", "encoder.layer.{}.attention.attn.q"},
    {"blk.{}.attn_k", "encoder.layer.{}.attention.attn.k"},
    {"blk.{}.attn_v", "encoder.layer.{}.attention.attn.v"},
    {"blk.{}.attn_output", "encoder.layer.{}.attention.attn.o"},
    {"blk.{}.attn_output_norm", "encoder.layer.{}.attention.LayerNorm"},
    {"blk.{}.ffn_up", "encoder.layer.{}.intermediate.dense"},
    {"blk.{}.ffn_down", "encoder.layer.{}.output.dense"},
    {"blk.{}.layer_output_norm", "encoder.layer.{}.output.LayerNorm"},
};
constexpr HfClass kClasses[] = {
    {.model_type = "mpnet",
     .class_names = "MPNetModel MPNetForMaskedLM",
     .sizes = {.kv_heads = ""},
     .heads_divide = true,
     .act = "gelu",
     .norm_eps_key = "layer_norm_eps",
     .norm_eps = 1e-12,
     .max_positions = 512,
     .n_heads = 12,
     .ignores_head_dim = true,
     .rope = HfRope::none,
     .tied = true,
     .has_token_types = false,
     .positions_after_padding = true,
     .padding = 1,
     .distance_buckets_key = "relative_attention_num_buckets",
     .classifier = {.class_names = "MPNetForSequenceClassification",
                    .dense = "classifier.dense",
                    .out = "classifier.out_proj",
                    .act = "tanh"},
     .without_effect = "hidden_dropout_prob attention_probs_dropout_prob classifier_dropout "
                       "embedding_size"}};
constexpr BlockSpec block() {
  BlockSpec block = kBertBlock;
  block.token_types = false;
  block.distances = Distances::numbers;
  return block;
}
}  // namespace

constinit const FamilyRecord mpnet =
    encoder_record({.name = "mpnet",
                    .published = "all-mpnet-base-v2, multi-qa-mpnet-base",
                    .block = block(),
                    .own_names = kNames,
                    .head_prefixes = "mpnet.",
                    .classes = kClasses});
}  // namespace ruv::family
