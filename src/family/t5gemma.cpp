// T5Gemma: the layers of Gemma 2 as an encoder and as a decoder, which may differ in size and have
// tables of embeddings of their own.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"enc.token_embd", "model.encoder.embed_tokens"},
    {"token_embd", "model.decoder.embed_tokens"},
    {"output", "lm_head.out_proj"},
    {"enc.output_norm", "model.encoder.norm"},
    {"dec.output_norm", "model.decoder.norm"},
    {"enc.blk.{}.attn_norm", "model.encoder.layers.{}.pre_self_attn_layernorm"},
    {"enc.blk.{}.attn_q", "model.encoder.layers.{}.self_attn.q_proj"},
    {"enc.blk.{}.attn_k", "model.encoder.layers.{}.self_attn.k_proj"},
    {"enc.blk.{}.attn_v", "model.encoder.layers.{}.self_attn.v_proj"},
    {"enc.blk.{}.attn_o", "model.encoder.layers.{}.self_attn.o_proj"},
    {"enc.blk.{}.post_attention_norm", "model.encoder.layers.{}.post_self_attn_layernorm"},
    {"enc.blk.{}.ffn_norm", "model.encoder.layers.{}.pre_feedforward_layernorm"},
    {"enc.blk.{}.ffn_gate", "model.encoder.layers.{}.mlp.gate_proj"},
    {"enc.blk.{}.ffn_up", "model.encoder.layers.{}.mlp.up_proj"},
    {"enc.blk.{}.ffn_down", "model.encoder.layers.{}.mlp.down_proj"},
    {"enc.blk.{}.post_ffw_norm", "model.encoder.layers.{}.post_feedforward_layernorm"},
    {"dec.blk.{}.attn_norm", "model.decoder.layers.{}.pre_self_attn_layernorm"},
    {"dec.blk.{}.attn_q", "model.decoder.layers.{}.self_attn.q_proj"},
    {"dec.blk.{}.attn_k", "model.decoder.layers.{}.self_attn.k_proj"},
    {"dec.blk.{}.attn_v", "model.decoder.layers.{}.self_attn.v_proj"},
    {"dec.blk.{}.attn_o", "model.decoder.layers.{}.self_attn.o_proj"},
    {"dec.blk.{}.post_attention_norm", "model.decoder.layers.{}.post_self_attn_layernorm"},
    {"dec.blk.{}.cross_attn_norm", "model.decoder.layers.{}.pre_cross_attn_layernorm"},
    {"dec.blk.{}.cross_attn_q", "model.decoder.layers.{}.cross_attn.q_proj"},
    {"dec.blk.{}.cross_attn_k", "model.decoder.layers.{}.cross_attn.k_proj"},
    {"dec.blk.{}.cross_attn_v", "model.decoder.layers.{}.cross_attn.v_proj"},
    {"dec.blk.{}.cross_attn_o", "model.decoder.layers.{}.cross_attn.o_proj"},
    {"dec.blk.{}.post_cross_attn_norm", "model.decoder.layers.{}.post_cross_attn_layernorm"},
    {"dec.blk.{}.ffn_norm", "model.decoder.layers.{}.pre_feedforward_layernorm"},
    {"dec.blk.{}.ffn_gate", "model.decoder.layers.{}.mlp.gate_proj"},
    {"dec.blk.{}.ffn_up", "model.decoder.layers.{}.mlp.up_proj"},
    {"dec.blk.{}.ffn_down", "model.decoder.layers.{}.mlp.down_proj"},
    {"dec.blk.{}.post_ffw_norm", "model.decoder.layers.{}.post_feedforward_layernorm"},
};
constexpr NeutralKey kNeutral[] = {{"is_encoder_decoder", " true false "},
                                   {"attention_bias", " false "}};
constexpr HfClass kClasses[] = {
    {.model_type = "t5gemma",
     .class_names = "T5GemmaForConditionalGeneration T5GemmaModel",
     .act_key = "hidden_activation",
     .max_positions = 8192,
     .n_heads = 8,
     .n_kv_heads = 4,
     .head_dim = 256,
     .windows = HfWindows::periodic,
     .window = 4096,
     .query_scalar = 256,
     .tied = true,
     .without_effect = "dropout_rate classifier_dropout_rate cross_attention_hidden_size",
     .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord t5gemma{.name = "t5gemma",
                                     .published = "T5Gemma",
                                     .block = {.norm_place = NormPlace::sandwich,
                                               .reads_source = true,
                                               .unlike_sides = true,
                                               .act = Act::gelu_tanh,
                                               .windows = Windows::periodic,
                                               .window_period = 2},
                                     .embed_scale = EmbedScale::sqrt_dim,
                                     .attn_softcap = {.computed = true, .otherwise = 50},
                                     .final_softcap = {.computed = true, .otherwise = 30},
                                     .gguf_keys = " decoder_start_token_id ",
                                     .last_norm = "dec.output_norm",
                                     .norms_minus_one = true,
                                     .usual_names = false,
                                     .own_names = kNames,
                                     .classes = kClasses};
}  // namespace ruv::family
