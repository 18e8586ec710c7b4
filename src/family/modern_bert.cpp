// ModernBERT: norms before each half of a block but the first, rotary positions, a gated
// feed-forward, and windows in both directions in all but every third layer, which have another
// base.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "model.embeddings.tok_embeddings"},
    {"token_embd_norm", "model.embeddings.norm"},
    {"output_norm", "model.final_norm"},
    {"blk.{}.attn_norm", "model.layers.{}.attn_norm"},
    {"blk.{}.attn_qkv", "model.layers.{}.attn.Wqkv"},
    {"blk.{}.attn_output", "model.layers.{}.attn.Wo"},
    {"blk.{}.ffn_norm", "model.layers.{}.mlp_norm"},
    {"blk.{}.ffn_up", "model.layers.{}.mlp.Wi"},
    {"blk.{}.ffn_down", "model.layers.{}.mlp.Wo"},
};
constexpr NeutralKey kNeutral[] = {{"norm_bias", " false "}};
constexpr HfClass kClasses[] = {
    {.model_type = "modernbert",
     .class_names = "ModernBertModel ModernBertForMaskedLM",
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
     .tied = true,
     .classifier = {.class_names = "ModernBertForSequenceClassification",
                    .dense = "head.dense",
                    .norm = "head.norm",
                    .out = "classifier",
                    .act = "gelu",
                    .act_key = "classifier_activation",
                    .pooling_key = "classifier_pooling"},
     .without_effect =
         "embedding_dropout mlp_dropout decoder_bias classifier_dropout "
         "classifier_bias deterministic_flash_attn sparse_prediction "
         "sparse_pred_ignore_index initializer_cutoff_factor cls_token_id sep_token_id "
         "reference_compile repad_logits_with_grad position_embedding_type layer_norm_eps",
     .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord modern_bert{
    .name = "modern-bert",
    .published =
        "ModernBERT base and large, GTE ModernBERT, Nomic Embed ModernBERT, Ettin encoders",
    .block = {.norm = Norm::layer,
              .norm_biases = false,
              .embd_norm = true,
              .first_norm = false,
              .bidirectional = true,
              .act = Act::gelu,
              .windows = Windows::periodic,
              .window_period = 3,
              .full_first = true},
    .local_rope_base = 10000,
    .gguf_keys = " attention.causal ",
    .fused_qkv = true,
    .fused_gate_up = true,
    .usual_names = false,
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
