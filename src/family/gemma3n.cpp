// Gemma 3n (text): four residual streams of which layers compute with one (AltUp), a product of low
// rank beside attention (LAuReL), feed-forwards whose gates are cut, inputs of single layers, and
// layers that read the keys and values of earlier ones.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kText{.model_type = "gemma3n_text",
                        .class_names = "Gemma3nForCausalLM Gemma3nTextModel",
                        .act_key = "hidden_activation",
                        .max_positions = 32768,
                        .n_heads = 8,
                        .n_kv_heads = 2,
                        .head_dim = 256,
                        .windows = HfWindows::all,
                        .window = 512,
                        .rope = HfRope::by_kind,
                        .rope_base = 1e6,
                        .rotary_part_key = "",
                        .scores_are_plain = true,
                        .qkv_bias = "attention_bias",
                        .output_bias = "attention_bias",
                        .sharing_layers = 15,
                        .layer_input = 256,
                        .streams = {.n = 4, .active = 0, .low_rank = 64},
                        .tied = true,
                        // The first bounds weights in training, the second is made of others.
                        .without_effect = "altup_coef_clip kv_sharing_modes"};

// The class with towers for images and sound, whose text_config is a config of the other.
constexpr HfClass nested() {
  HfClass hf = kText;
  hf.model_type = "gemma3n";
  hf.class_names = "Gemma3nForConditionalGeneration Gemma3nModel";
  hf.nested = true;
  return hf;
}
constexpr HfClass kClasses[] = {kText, nested()};

constexpr TensorName kNames[] = {
    {"per_layer_token_embd", "model.embed_tokens_per_layer"},
    {"per_layer_model_proj", "model.per_layer_model_projection"},
    {"per_layer_proj_norm", "model.per_layer_projection_norm"},
    {"altup_proj.{}", "model.altup_projections.{}"},
    {"altup_unembd_proj.{}", "model.altup_unembed_projections.{}"},
    {"blk.{}.inp_gate", "model.layers.{}.per_layer_input_gate"},
    {"blk.{}.proj", "model.layers.{}.per_layer_projection"},
    {"blk.{}.post_norm", "model.layers.{}.post_per_layer_input_norm"},
    {"blk.{}.altup_router", "model.layers.{}.altup.modality_router"},
    {"blk.{}.altup_router_norm", "model.layers.{}.altup.router_norm"},
    {"blk.{}.altup_predict_coef", "model.layers.{}.altup.prediction_coefs"},
    {"blk.{}.altup_correct_coef", "model.layers.{}.altup.correction_coefs"},
    whole("blk.{}.altup_correct_scale.weight", "model.layers.{}.altup.correct_output_scale"),
    {"blk.{}.laurel_l", "model.layers.{}.laurel.linear_left"},
    {"blk.{}.laurel_r", "model.layers.{}.laurel.linear_right"},
    {"blk.{}.laurel_post_norm", "model.layers.{}.laurel.post_laurel_norm"},
};
}  // namespace

constinit const FamilyRecord gemma3n{
    .name = "gemma3n",
    .published = "the text of Gemma 3n E2B and E4B",
    .block = {.norm_place = NormPlace::sandwich,
              .qk_norm = QkNorm::heads,
              .act = Act::gelu_tanh,
              .windows = Windows::periodic,
              .window_period = 5,
              .unlike_layers = true,
              .norms_values = true,
              .streams = true},
    .embed_scale = EmbedScale::sqrt_dim,
    .final_softcap = {.computed = true, .otherwise = 30},
    .local_rope_base = 10000,
    .gguf_keys =
        " attention.shared_kv_layers embedding_length_per_layer_input altup.active_idx "
        "altup.num_inputs activation_sparsity_scale ",
    .usual_attn_scale = 1,
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
