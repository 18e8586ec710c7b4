// The decoders beside ModernBERT: its blocks with a causal mask, matrices of their own for queries,
// keys and values, and a dense layer between the last states and the output matrix.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "model.embeddings.tok_embeddings"},
    {"token_embd_norm", "model.embeddings.norm"},
    {"output_norm", "model.final_norm"},
    {"output_dense", "lm_head.dense"},
    {"output_dense_norm", "lm_head.norm"},
    {"output", "decoder"},
    {"blk.{}.attn_norm", "model.layers.{}.attn_norm"},
    {"blk.{}.attn_q", "model.layers.{}.attn.q_proj"},
    {"blk.{}.attn_k", "model.layers.{}.attn.k_proj"},
    {"blk.{}.attn_v", "model.layers.{}.attn.v_proj"},
    {"blk.{}.attn_output", "model.layers.{}.attn.Wo"},
    {"blk.{}.ffn_norm", "model.layers.{}.mlp_norm"},
    {"blk.{}.ffn_up", "model.layers.{}.mlp.Wi"},
    {"blk.{}.ffn_down", "model.layers.{}.mlp.Wo"},
};
constexpr NeutralKey kNeutral[] = {{"norm_bias", " false "}};
constexpr HfClass kClasses[] = {
    {.model_type = "modernbert-decoder",
     .class_names = "ModernBertDecoderForCausalLM ModernBertDecoderModel",
     .sizes = {.kv_heads = ""},
     .heads_divide = true,
     .act_key = "hidden_activation",
     .act = "gelu",
     .norm_eps_key = "norm_eps",
     .norm_eps = 1e-5,
     .max_positions = 8192,
     .n_heads = 12,
     .ignores_head_dim = true,
     .windows = HfWindows::periodic,
     .window = 128,
     .window_key = "local_attention",
     .halves_window = true,
     .period_key = "global_attn_every_n_layers",
     .rope = HfRope::by_kind,
     .rope_base = 160000,
     .scales_every_kind = true,
     .rope_base_key = "global_rope_theta",
     .local_base_key = "local_rope_theta",
     .local_base = 10000,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .mlp_bias = "mlp_bias",
     .head_bias = "decoder_bias",
     .head_bias_by_default = true,
     .output_dense_act = "classifier_activation",
     .output_dense_bias = "classifier_bias",
     .tied = true,
     .without_effect =
         "embedding_dropout mlp_dropout classifier_dropout initializer_cutoff_factor cls_token_id "
         "classifier_pooling deterministic_flash_attn sparse_prediction sparse_pred_ignore_index "
         "reference_compile repad_logits_with_grad position_embedding_type layer_norm_eps "
         "causal_mask",
     .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord modern_decoder{.name = "modern-bert-decoder",
                                            .published = "Ettin decoders",
                                            .block = {.norm = Norm::layer,
                                                      .norm_biases = false,
                                                      .embd_norm = true,
                                                      .first_norm = false,
                                                      .output_dense = true,
                                                      .act = Act::gelu,
                                                      .windows = Windows::periodic,
                                                      .window_period = 3,
                                                      .full_first = true},
                                            .local_rope_base = 10000,
                                            .fused_gate_up = true,
                                            .usual_names = false,
                                            .own_names = kNames,
                                            .classes = kClasses};
}  // namespace ruv::family
