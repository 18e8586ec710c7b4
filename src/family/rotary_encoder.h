// What encoders share that are BERT with rotary positions (GTE, Jina 3, Nomic): the names of
// tensors but the feed-forward's, most of the model class, and norms after each sum.
#pragma once

#include <array>

#include "family/encoder_record.h"

namespace ruv::family {

// All names, with those of the feed-forward's matrices, which differ. An array of its own for each
// family, so that errors name the tensors of its files only.
template <size_t n>
constexpr std::array<TensorName, 9 + n> rotary_encoder_names(const TensorName (&feed_forward)[n]) {
  std::array<TensorName, 9 + n> names = {
      TensorName{"token_embd", "embeddings.word_embeddings"},
      TensorName{"token_types", "embeddings.token_type_embeddings"},
      TensorName{"token_embd_norm", "embeddings.LayerNorm"},
      TensorName{"blk.{}.attn_q", "layers.{}.self_attn.q_proj"},
      TensorName{"blk.{}.attn_k", "layers.{}.self_attn.k_proj"},
      TensorName{"blk.{}.attn_v", "layers.{}.self_attn.v_proj"},
      TensorName{"blk.{}.attn_output", "layers.{}.self_attn.o_proj"},
      TensorName{"blk.{}.attn_output_norm", "layers.{}.post_attention_layernorm"},
      TensorName{"blk.{}.layer_output_norm", "layers.{}.post_mlp_layernorm"}};
  for (size_t i = 0; i < n; ++i) names[9 + i] = feed_forward[i];
  return names;
}

// Those of a feed-forward with a gate.
inline constexpr TensorName kGatedEncoderNames[] = {
    {"blk.{}.ffn_gate", "layers.{}.mlp.gate_proj"},
    {"blk.{}.ffn_up", "layers.{}.mlp.up_proj"},
    {"blk.{}.ffn_down", "layers.{}.mlp.down_proj"},
};

// A class still needs its names, the context and the base of its positions.
inline constexpr HfClass kRotaryEncoderClass{
    .sizes = {.kv_heads = ""},
    .act = "gelu",
    .norm_eps_key = "layer_norm_eps",
    .norm_eps = 1e-12,
    .n_heads = 12,
    .tied = true,
    .token_types = 1,
    .classifier = {.dense = "pooler.dense", .out = "classifier", .act = "tanh"},
    .without_effect = "hidden_dropout_prob attention_probs_dropout_prob classifier_dropout"};

// Biases, activation and gate are the family's own.
inline constexpr BlockSpec kRotaryEncoderBlock{.norm = Norm::layer,
                                               .embd_norm = true,
                                               .norm_place = NormPlace::sum,
                                               .bidirectional = true,
                                               .token_types = true};

}  // namespace ruv::family
