// Heads of EAGLE-3 (arXiv 2503.01840) for models of any family. Names are those of its authors'
// files, and of those that number their layer as models do.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kPlain[] = {{"eagle_config.use_aux_hidden_state", " true "},
                                 {"eagle_config.use_input_layernorm_in_first_layer", " true "},
                                 {"eagle_config.use_last_layernorm", " true "},
                                 {"eagle_config.use_mtp_layernorm", " false "},
                                 {"speculators_model_type", " \"eagle3\" "},
                                 {"num_hidden_layers", " 1 "}};
// Folders of the library speculators have the second form.
constexpr HfClass head_class(std::string_view model_type, std::string_view class_names) {
  return {.model_type = model_type,
          .class_names = class_names,
          .inner_objects = "eagle_config",
          .max_positions = 2048,
          .null_kv_heads = true,
          .null_head_dim = true,
          .qkv_bias = "attention_bias",
          .output_bias = "attention_bias",
          .mlp_bias = "mlp_bias",
          .without_effect =
              "pretraining_tp speculators_config speculators_version "
              "has_no_defaults_at_init embed_requires_grad",
          .neutral = kPlain};
}
constexpr HfClass kClasses[] = {
    head_class("llama", "LlamaForCausalLMEagle3 Eagle3LlamaForCausalLM"),
    head_class("", "Eagle3Speculator Eagle3DraftModel")};
constexpr TensorName kNames[] = {
    {"blk.0.attn_norm", "midlayer.input_layernorm"},
    {"blk.0.attn_norm_2", "midlayer.hidden_norm"},
    {"blk.0.attn_q", "midlayer.self_attn.q_proj"},
    {"blk.0.attn_k", "midlayer.self_attn.k_proj"},
    {"blk.0.attn_v", "midlayer.self_attn.v_proj"},
    {"blk.0.attn_output", "midlayer.self_attn.o_proj"},
    {"blk.0.ffn_norm", "midlayer.post_attention_layernorm"},
    {"blk.0.ffn_gate", "midlayer.mlp.gate_proj"},
    {"blk.0.ffn_up", "midlayer.mlp.up_proj"},
    {"blk.0.ffn_down", "midlayer.mlp.down_proj"},
    {"blk.{}.attn_norm_2", "model.layers.{}.hidden_norm"},
    {"fc", "model.fc"},
    whole("d2t", "d2t"),
};
}  // namespace

constinit const FamilyRecord eagle3{
    .name = "eagle3",
    .is_draft_head = true,
    .published = "EAGLE-3 heads for Llama 3.1 and 3.3, Qwen3 and others",
    .gguf_keys = "target_layers target_hidden_size norm_before_residual",
    .neighbour_rows = true,
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
