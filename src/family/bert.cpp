// BERT and its descendants: encoders with learned positions, whose stream is normalised after each
// half of a block. RoBERTa's positions begin after the padding token's id, DistilBERT has no token
// types, ELECTRA's embeddings may be narrower than the stream.
#include "family/encoder_record.h"
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"position_embd", "embeddings.position_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"token_embd_in", "embeddings_project"},
    {"blk.{}.attn_q", "encoder.layer.{}.attention.self.query"},
    {"blk.{}.attn_k", "encoder.layer.{}.attention.self.key"},
    {"blk.{}.attn_v", "encoder.layer.{}.attention.self.value"},
    {"blk.{}.attn_output", "encoder.layer.{}.attention.output.dense"},
    {"blk.{}.attn_output_norm", "encoder.layer.{}.attention.output.LayerNorm"},
    {"blk.{}.ffn_up", "encoder.layer.{}.intermediate.dense"},
    {"blk.{}.ffn_down", "encoder.layer.{}.output.dense"},
    {"blk.{}.layer_output_norm", "encoder.layer.{}.output.LayerNorm"},
    // DistilBERT.
    {"blk.{}.attn_q", "transformer.layer.{}.attention.q_lin"},
    {"blk.{}.attn_k", "transformer.layer.{}.attention.k_lin"},
    {"blk.{}.attn_v", "transformer.layer.{}.attention.v_lin"},
    {"blk.{}.attn_output", "transformer.layer.{}.attention.out_lin"},
    {"blk.{}.attn_output_norm", "transformer.layer.{}.sa_layer_norm"},
    {"blk.{}.ffn_up", "transformer.layer.{}.ffn.lin1"},
    {"blk.{}.ffn_down", "transformer.layer.{}.ffn.lin2"},
    {"blk.{}.layer_output_norm", "transformer.layer.{}.output_layer_norm"},
};
constexpr NeutralKey kNeutral[] = {{"is_decoder", " false "},
                                   {"add_cross_attention", " false "},
                                   {"position_embedding_type", " \"absolute\" "}};
constexpr std::string_view kWithoutEffect =
    "hidden_dropout_prob attention_probs_dropout_prob classifier_dropout embedding_size";

constexpr HfClass kBert{.model_type = "bert",
                        .class_names = "BertModel BertForMaskedLM BertForPreTraining",
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
                        .token_types = 2,
                        .classifier = {.class_names = "BertForSequenceClassification",
                                       .dense = "pooler.dense",
                                       .out = "classifier",
                                       .act = "tanh"},
                        .without_effect = kWithoutEffect,
                        .neutral = kNeutral};

constexpr HfClass after_padding(std::string_view model_type, std::string_view class_names,
                                std::string_view scoring) {
  HfClass hf = kBert;
  hf.model_type = model_type;
  hf.class_names = class_names;
  hf.classifier = {.class_names = scoring,
                   .dense = "classifier.dense",
                   .out = "classifier.out_proj",
                   .act = "tanh"};
  hf.positions_after_padding = true;
  hf.padding = 1;
  return hf;
}
constexpr HfClass electra() {
  HfClass hf = kBert;
  hf.model_type = "electra";
  hf.class_names = "ElectraModel ElectraForPreTraining ElectraForMaskedLM";
  hf.n_heads = 4;
  hf.embedding_width = 128;
  hf.classifier = {.class_names = "ElectraForSequenceClassification",
                   .dense = "classifier.dense",
                   .out = "classifier.out_proj",
                   .act = "gelu"};
  hf.without_effect =
      "hidden_dropout_prob attention_probs_dropout_prob classifier_dropout summary_type "
      "summary_use_proj summary_activation summary_first_dropout summary_last_dropout "
      "summary_proj_to_labels";
  return hf;
}
constexpr HfClass kClasses[] = {
    kBert,
    after_padding("roberta", "RobertaModel RobertaForMaskedLM", "RobertaForSequenceClassification"),
    after_padding("xlm-roberta", "XLMRobertaModel XLMRobertaForMaskedLM",
                  "XLMRobertaForSequenceClassification"),
    after_padding("camembert", "CamembertModel CamembertForMaskedLM",
                  "CamembertForSequenceClassification"),
    electra(),
    {.model_type = "distilbert",
     .class_names = "DistilBertModel DistilBertForMaskedLM",
     .sizes = {.layers = "num_hidden_layers n_layers",
               .width = "hidden_size dim",
               .heads = "num_attention_heads n_heads",
               .kv_heads = "",
               .ff = "hidden_dim"},
     .heads_divide = true,
     .act_key = "activation",
     .act = "gelu",
     .norm_eps_key = "",
     .norm_eps = 1e-12,
     .max_positions = 512,
     .n_heads = 12,
     .ignores_head_dim = true,
     .rope = HfRope::none,
     .tied = true,
     .has_token_types = false,
     .classifier = {.class_names = "DistilBertForSequenceClassification",
                    .dense = "pre_classifier",
                    .out = "classifier",
                    .act = "relu"},
     .without_effect = "sinusoidal_pos_embds dropout qa_dropout seq_classif_dropout"}};
}  // namespace

constinit const FamilyRecord bert = encoder_record(
    {.name = "bert",
     .published = "BERT, RoBERTa, XLM-R, CamemBERT, DistilBERT, ELECTRA; BGE, E5, MiniLM",
     .block = kBertBlock,
     .own_names = kNames,
     .head_prefixes = "bert. roberta. electra. distilbert.",
     .classes = kClasses});
}  // namespace ruv::family
