// T5 and its descendants: an encoder and a decoder whose scores have a number of the head added for
// the distance, in place of positions. T5 1.0 has no gates and divides the logits of its tied
// embedding; UMT5 has numbers in each layer.
#include <span>

#include "family/families.h"

namespace ruv::family {
namespace {
// Those of the encoder come first.
constexpr TensorName kNames[] = {
    {"token_embd", "shared"},
    {"enc.output_norm", "encoder.final_layer_norm"},
    {"enc.blk.{}.attn_norm", "encoder.block.{}.layer.0.layer_norm"},
    {"enc.blk.{}.attn_q", "encoder.block.{}.layer.0.SelfAttention.q"},
    {"enc.blk.{}.attn_k", "encoder.block.{}.layer.0.SelfAttention.k"},
    {"enc.blk.{}.attn_v", "encoder.block.{}.layer.0.SelfAttention.v"},
    {"enc.blk.{}.attn_o", "encoder.block.{}.layer.0.SelfAttention.o"},
    {"enc.blk.{}.attn_rel_b", "encoder.block.{}.layer.0.SelfAttention.relative_attention_bias"},
    {"enc.blk.{}.ffn_norm", "encoder.block.{}.layer.1.layer_norm"},
    {"enc.blk.{}.ffn_gate", "encoder.block.{}.layer.1.DenseReluDense.wi_0"},
    {"enc.blk.{}.ffn_up", "encoder.block.{}.layer.1.DenseReluDense.wi_1"},
    {"enc.blk.{}.ffn_up", "encoder.block.{}.layer.1.DenseReluDense.wi"},
    {"enc.blk.{}.ffn_down", "encoder.block.{}.layer.1.DenseReluDense.wo"},
    {"output", "lm_head"},
    {"dec.output_norm", "decoder.final_layer_norm"},
    {"dec.blk.{}.attn_norm", "decoder.block.{}.layer.0.layer_norm"},
    {"dec.blk.{}.attn_q", "decoder.block.{}.layer.0.SelfAttention.q"},
    {"dec.blk.{}.attn_k", "decoder.block.{}.layer.0.SelfAttention.k"},
    {"dec.blk.{}.attn_v", "decoder.block.{}.layer.0.SelfAttention.v"},
    {"dec.blk.{}.attn_o", "decoder.block.{}.layer.0.SelfAttention.o"},
    {"dec.blk.{}.attn_rel_b", "decoder.block.{}.layer.0.SelfAttention.relative_attention_bias"},
    {"dec.blk.{}.cross_attn_norm", "decoder.block.{}.layer.1.layer_norm"},
    {"dec.blk.{}.cross_attn_q", "decoder.block.{}.layer.1.EncDecAttention.q"},
    {"dec.blk.{}.cross_attn_k", "decoder.block.{}.layer.1.EncDecAttention.k"},
    {"dec.blk.{}.cross_attn_v", "decoder.block.{}.layer.1.EncDecAttention.v"},
    {"dec.blk.{}.cross_attn_o", "decoder.block.{}.layer.1.EncDecAttention.o"},
    {"dec.blk.{}.ffn_norm", "decoder.block.{}.layer.2.layer_norm"},
    {"dec.blk.{}.ffn_gate", "decoder.block.{}.layer.2.DenseReluDense.wi_0"},
    {"dec.blk.{}.ffn_up", "decoder.block.{}.layer.2.DenseReluDense.wi_1"},
    {"dec.blk.{}.ffn_up", "decoder.block.{}.layer.2.DenseReluDense.wi"},
    {"dec.blk.{}.ffn_down", "decoder.block.{}.layer.2.DenseReluDense.wo"},
};
constexpr size_t kEncoderNames = 13;
constexpr NeutralKey kNeutral[] = {{"is_encoder_decoder", " true "}};
constexpr NeutralKey kEitherSide[] = {{"is_encoder_decoder", " true false "}};
constexpr HfClass kT5{.model_type = "t5",
                      .class_names = "T5ForConditionalGeneration T5Model",
                      .sizes = {.layers = "num_hidden_layers num_layers",
                                .width = "hidden_size d_model",
                                .heads = "num_attention_heads num_heads",
                                .kv_heads = "",
                                .ff = "d_ff",
                                .positions = "n_positions",
                                .head_dim = "head_dim d_kv",
                                .decoder_layers = "num_decoder_layers"},
                      .norm_eps_key = "layer_norm_epsilon",
                      .max_positions = 512,
                      .n_heads = 8,
                      .head_dim = 64,
                      .rope = HfRope::none,
                      .scores_are_plain = true,
                      .distance_buckets_key = "relative_attention_num_buckets",
                      .distance_reach_key = "relative_attention_max_distance",
                      .gated_act_key = "feed_forward_proj",
                      .gated_act = "relu",
                      .always_tied = true,
                      .divides_tied_logits = true,
                      .without_effect = "dropout_rate classifier_dropout output_past",
                      .neutral = kNeutral};
constexpr HfClass gated(std::string_view model_type, std::string_view class_names) {
  HfClass hf = kT5;
  hf.model_type = model_type;
  hf.class_names = class_names;
  hf.n_heads = 6;
  hf.gated_act = "gated-gelu";
  return hf;
}
constexpr HfClass mt5() {
  HfClass hf = gated("mt5", "MT5ForConditionalGeneration MT5Model");
  hf.divides_tied_logits = false;
  hf.without_effect = "dropout_rate classifier_dropout output_past scale_decoder_outputs";
  return hf;
}
constexpr HfClass umt5() {
  HfClass hf = gated("umt5", "UMT5ForConditionalGeneration UMT5Model");
  hf.own_distances = true;
  return hf;
}
constexpr HfClass kClasses[] = {kT5, mt5(), umt5()};

// The class of an encoder alone.
constexpr HfClass encoder_of(HfClass hf, std::string_view class_names) {
  hf.class_names = class_names;
  hf.sizes.decoder_layers = {};
  hf.always_tied = hf.divides_tied_logits = false;
  hf.without_effect =
      "dropout_rate classifier_dropout output_past scale_decoder_outputs num_decoder_layers";
  hf.neutral = kEitherSide;
  return hf;
}
constexpr HfClass kEncoderClasses[] = {encoder_of(kT5, "T5EncoderModel"),
                                       encoder_of(mt5(), "MT5EncoderModel"),
                                       encoder_of(umt5(), "UMT5EncoderModel")};
}  // namespace

constinit const FamilyRecord t5{
    .name = "t5",
    .published = "T5, T5 v1.1, Flan-T5, mT5, UMT5",
    .block = {.reads_source = true,
              .positions = Positions::none,
              .distances = Distances::numbers,
              .gate_optional = true,
              .act = Act::gelu_tanh},
    .divides_tied_logits = true,
    .gguf_keys =
        " decoder_block_count decoder_start_token_id attention.relative_max_distance "
        "attention.own_distances feed_forward_gated logit_scale ",
    .last_norm = "dec.output_norm",
    .usual_attn_scale = 1,
    .usual_names = false,
    .own_names = kNames,
    .embedding_copies = " encoder.embed_tokens.weight decoder.embed_tokens.weight ",
    .base_prefix = "",
    .classes = kClasses};

constinit const FamilyRecord t5encoder{
    .name = "t5encoder",
    .published = "Sentence-T5, GTR-T5, Instructor; encoders of T5, mT5 and UMT5",
    .block = {.bidirectional = true,
              .only_source = true,
              .positions = Positions::none,
              .distances = Distances::numbers,
              .gate_optional = true,
              .act = Act::gelu_tanh},
    .gguf_keys =
        " attention.causal attention.relative_max_distance attention.own_distances "
        "feed_forward_gated ",
    .last_norm = "enc.output_norm",
    .usual_attn_scale = 1,
    .usual_names = false,
    .own_names = std::span(kNames).first(kEncoderNames),
    .embedding_copies = " encoder.embed_tokens.weight ",
    .base_prefix = "",
    .classes = kEncoderClasses};
}  // namespace ruv::family
