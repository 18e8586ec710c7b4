// Jina Embeddings 2: BERT whose scores fall with the distance of the key (ALiBi) on both sides of
// the query, with a gated feed-forward. The model for code also normalises queries and keys, has
// one norm more after attention, and other names.
#include "family/encoder_record.h"
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"blk.{}.attn_q", "encoder.layer.{}.attention.self.query"},
    {"blk.{}.attn_k", "encoder.layer.{}.attention.self.key"},
    {"blk.{}.attn_v", "encoder.layer.{}.attention.self.value"},
    {"blk.{}.attn_output", "encoder.layer.{}.attention.output.dense"},
    {"blk.{}.attn_output_norm", "encoder.layer.{}.attention.output.LayerNorm"},
    {.gguf = "blk.{}.ffn_gate",
     .hf = "encoder.layer.{}.mlp.gated_layers",
     .other = "blk.{}.ffn_up"},
    {"blk.{}.ffn_down", "encoder.layer.{}.mlp.wo"},
    {"blk.{}.layer_output_norm", "encoder.layer.{}.mlp.layernorm"},
    // The model for code.
    {"blk.{}.attn_q_norm", "encoder.layer.{}.attention.self.layer_norm_q"},
    {"blk.{}.attn_k_norm", "encoder.layer.{}.attention.self.layer_norm_k"},
    {"blk.{}.attn_norm_2", "encoder.layer.{}.layer_norm_1"},
    {.gguf = "blk.{}.ffn_up",
     .hf = "encoder.layer.{}.mlp.up_gated_layer",
     .other = "blk.{}.ffn_gate"},
    {"blk.{}.ffn_down", "encoder.layer.{}.mlp.down_layer"},
    {"blk.{}.layer_output_norm", "encoder.layer.{}.layer_norm_2"},
};
constexpr NeutralKey kNeutral[] = {{"is_decoder", " false "},
                                   {"add_cross_attention", " false "},
                                   {"emb_pooler", " \"mean\" "},
                                   {"position_embedding_type", " \"alibi\" ", true}};

// Configs have the type of BERT. The classes that score texts are not here: those of the published
// rankers have slopes of their own, which no file says.
constexpr HfClass kClasses[] = {{.model_type = "bert",
                                 .shares_type = true,
                                 .class_names = "JinaBertModel JinaBertForMaskedLM",
                                 .sizes = {.kv_heads = ""},
                                 .heads_divide = true,
                                 .act_key = "",
                                 .act = "gelu",
                                 .norm_eps_key = "layer_norm_eps",
                                 .norm_eps = 1e-12,
                                 .max_positions = 512,
                                 .n_heads = 12,
                                 .ignores_head_dim = true,
                                 .rope = HfRope::none,
                                 .qk_norm_by_tensors = true,
                                 .tied = true,
                                 .token_types = 2,
                                 .glu_key = "feed_forward_type",
                                 .without_effect =
                                     "hidden_act hidden_dropout_prob attention_probs_dropout_prob "
                                     "classifier_dropout model_max_length",
                                 .neutral = kNeutral}};

constexpr BlockSpec block() {
  BlockSpec block = kBertBlock;
  block.positions = Positions::alibi;
  block.all_bias = false;
  block.down_bias = block.output_bias = true;
  block.gated = true;
  block.qk_norm = QkNorm::rows;
  block.qk_norm_optional = true;
  block.may_sum_twice = true;
  return block;
}
constexpr FamilyRecord record() {
  FamilyRecord own = encoder_record({.name = "jina-bert-v2",
                                     .published = "Jina Embeddings 2, small and base, of "
                                                  "languages and of code",
                                     .block = block(),
                                     .own_names = kNames,
                                     .head_prefixes = "bert.",
                                     .classes = kClasses});
  own.gguf_keys = " attention.causal attention.max_alibi_bias ";
  return own;
}
}  // namespace

constinit const FamilyRecord jina_bert_v2 = record();
}  // namespace ruv::family
