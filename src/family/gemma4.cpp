// Gemma 4 (text): windowed layers with heads of their own, values that are normalised and may be
// the keys, layers that read the keys and values of earlier ones, inputs of single layers, and
// experts beside a dense feed-forward.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kNeutral[] = {{"use_bidirectional_attention", " \"vision\" "}};
constexpr HfClass kText{
    .model_type = "gemma4_text",
    .class_names = "Gemma4ForCausalLM Gemma4TextModel",
    .act_key = "hidden_activation",
    .max_positions = 131072,
    .n_heads = 8,
    .n_kv_heads = 4,
    .head_dim = 256,
    .windows = HfWindows::all,
    .window = 512,
    .rope = HfRope::by_kind,
    .default_rope = R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
                        "full_attention": {"rope_type": "proportional",
                                           "partial_rotary_factor": 0.25,
                                           "rope_theta": 1000000.0}})",
    .rope_base_key = "",
    .local_base_key = "",
    .local_base = 10000,
    .rotary_part_key = "",
    .scores_are_plain = true,
    .qkv_bias = "attention_bias",
    .output_bias = "attention_bias",
    .global_head_dim = 512,
    .layer_input = 256,
    .tied = true,
    .experts = {.count = {.names = "num_experts"},
                .enabled_key = "enable_moe_block",
                .used = {.names = "top_k_experts"},
                .width = {.names = "moe_intermediate_size"}},
    .without_effect = "kv_sharing_modes",  // made of the others
    .neutral = kNeutral};

// The class with towers for images and sound, whose text_config is a config of the other.
constexpr HfClass nested() {
  HfClass hf = kText;
  hf.model_type = "gemma4";
  hf.class_names = "Gemma4ForConditionalGeneration Gemma4Model";
  hf.nested = true;
  return hf;
}
// Without inputs of single layers and without experts: it reads no key of them.
constexpr HfClass unified_text() {
  HfClass hf = kText;
  hf.model_type = "gemma4_unified_text";
  hf.class_names = "Gemma4UnifiedForCausalLM Gemma4UnifiedTextModel";
  hf.max_positions = 262144;
  hf.window = 1024;
  hf.layer_input = 0;
  hf.experts = {};
  return hf;
}
constexpr HfClass unified() {
  HfClass hf = unified_text();
  hf.model_type = "gemma4_unified";
  hf.class_names = "Gemma4UnifiedForConditionalGeneration Gemma4UnifiedModel";
  hf.nested = true;
  return hf;
}
constexpr HfClass kClasses[] = {kText, nested(), unified_text(), unified()};

constexpr TensorName kNames[] = {
    {"per_layer_token_embd", "model.embed_tokens_per_layer"},
    {"per_layer_model_proj", "model.per_layer_model_projection"},
    {"per_layer_proj_norm", "model.per_layer_projection_norm"},
    {"blk.{}.inp_gate", "model.layers.{}.per_layer_input_gate"},
    {"blk.{}.proj", "model.layers.{}.per_layer_projection"},
    {"blk.{}.post_norm", "model.layers.{}.post_per_layer_input_norm"},
    {"blk.{}.post_ffw_norm_1", "model.layers.{}.post_feedforward_layernorm_1"},
    {"blk.{}.post_ffw_norm_2", "model.layers.{}.post_feedforward_layernorm_2"},
    {"blk.{}.pre_ffw_norm_2", "model.layers.{}.pre_feedforward_layernorm_2"},
    {"blk.{}.ffn_gate_inp", "model.layers.{}.router.proj"},
    whole("blk.{}.ffn_gate_inp.scale", "model.layers.{}.router.scale"),
    whole("blk.{}.ffn_down_exps.scale", "model.layers.{}.router.per_expert_scale"),
    whole("blk.{}.ffn_gate_up_exps.weight", "model.layers.{}.experts.gate_up_proj"),
    whole("blk.{}.ffn_down_exps.weight", "model.layers.{}.experts.down_proj"),
    whole("blk.{}.layer_output_scale.weight", "model.layers.{}.layer_scalar"),
};
}  // namespace

constinit const FamilyRecord gemma4{
    .name = "gemma4",
    .published = "the text of Gemma 4 E2B, E4B, 12B, 26B-A4B and 31B",
    .block = {.norm_place = NormPlace::sandwich,
              .qk_norm = QkNorm::heads,
              .act = Act::gelu_tanh,
              .windows = Windows::periodic,
              .window_period = 6,
              .unlike_layers = true,
              .norms_values = true,
              .scales_layers = true},
    .experts = {.computed = true, .beside_dense = true},
    .embed_scale = EmbedScale::sqrt_dim,
    .final_softcap = {.computed = true},
    .local_rope_base = 10000,
    .gguf_keys =
        " attention.key_length_swa attention.value_length_swa rope.dimension_count_swa "
        "attention.shared_kv_layers attention.values_are_keys "
        "embedding_length_per_layer_input ",
    .usual_attn_scale = 1,
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
