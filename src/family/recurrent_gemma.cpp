// RecurrentGemma (Griffin): gated linear recurrences in two layers of three, and attention with a
// window in the others.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "recurrent_gemma",
                                 .class_names = "RecurrentGemmaForCausalLM RecurrentGemmaModel",
                                 .act_key = "hidden_activation",
                                 .max_positions = 8192,
                                 .n_heads = 10,
                                 .null_kv_heads = true,
                                 .ignores_head_dim = true,
                                 .rope = HfRope::partial,
                                 .rotary_part = 0.5,
                                 .qkv_bias = "attention_bias",
                                 .tied = true,
                                 .without_effect =
                                     "w_init_variance_scale layers_block_type layer_types "
                                     "final_w_init_variance_scale"}};
constexpr TensorName kNames[] = {
    {"output_norm", "model.final_norm"},
    {"blk.{}.attn_norm", "model.layers.{}.temporal_pre_norm"},
    {"blk.{}.ffn_norm", "model.layers.{}.channel_pre_norm"},
    {"blk.{}.attn_q", "model.layers.{}.temporal_block.q_proj"},
    {"blk.{}.attn_k", "model.layers.{}.temporal_block.k_proj"},
    {"blk.{}.attn_v", "model.layers.{}.temporal_block.v_proj"},
    {"blk.{}.attn_output", "model.layers.{}.temporal_block.o_proj"},
    {"blk.{}.recurrence_y", "model.layers.{}.temporal_block.linear_y"},
    {"blk.{}.recurrence_x", "model.layers.{}.temporal_block.linear_x"},
    {"blk.{}.recurrence_out", "model.layers.{}.temporal_block.linear_out"},
    {.gguf = "blk.{}.recurrence_conv1d",
     .hf = "model.layers.{}.temporal_block.conv_1d",
     .depthwise = true},
    whole("blk.{}.recurrence_decay.weight",
          "model.layers.{}.temporal_block.rg_lru.recurrent_param"),
    whole("blk.{}.recurrence_input_gate.weight",
          "model.layers.{}.temporal_block.rg_lru.input_gate_weight"),
    whole("blk.{}.recurrence_input_gate.bias",
          "model.layers.{}.temporal_block.rg_lru.input_gate_bias"),
    whole("blk.{}.recurrence_decay_gate.weight",
          "model.layers.{}.temporal_block.rg_lru.recurrent_gate_weight"),
    whole("blk.{}.recurrence_decay_gate.bias",
          "model.layers.{}.temporal_block.rg_lru.recurrent_gate_bias"),
    {"blk.{}.ffn_gate", "model.layers.{}.mlp_block.gate_proj"},
    {"blk.{}.ffn_up", "model.layers.{}.mlp_block.up_proj"},
    {"blk.{}.ffn_down", "model.layers.{}.mlp_block.down_proj"},
};
}  // namespace

constinit const FamilyRecord recurrent_gemma{
    .name = "recurrent_gemma",
    .published = "RecurrentGemma 2B and 9B",
    .block = {.mixers = Mixers::gated_recurrence,
              .all_bias = true,
              .act = Act::gelu_tanh,
              .windows = Windows::all},
    .embed_scale = EmbedScale::sqrt_dim_bf16,
    .gguf_keys = " recurrence.inner_size recurrence.conv_kernel ",
    .norms_minus_one = true,
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
