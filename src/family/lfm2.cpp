// LFM2 (Liquid): gated short convolutions in most layers and attention with normalised queries and
// keys in some.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {
    {.model_type = "lfm2",
     .class_names = "Lfm2ForCausalLM Lfm2Model",
     .act_key = "",
     .norm_eps_key = "norm_eps",
     .norm_eps = 1e-5,
     .block_keys = true,
     .max_positions = 128000,
     .n_heads = 32,
     .n_kv_heads = 8,
     .rope_base = 1e6,
     .tied = true,
     // What published configs repeat or keep of the training.
     .without_effect = "block_dim block_mlp_init_scale block_norm_eps block_out_init_scale "
                       "block_use_swiglu block_use_xavier_init conv_dim conv_dim_out "
                       "conv_use_xavier_init num_heads use_pos_enc theta"}};
constexpr TensorName kNames[] = {
    {"token_embd_norm", "model.embedding_norm"},
    {"blk.{}.attn_norm", "model.layers.{}.operator_norm"},
    {"blk.{}.attn_output", "model.layers.{}.self_attn.out_proj"},
    {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_layernorm"},
    {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_layernorm"},
    {"blk.{}.shortconv.in_proj", "model.layers.{}.conv.in_proj"},
    {.gguf = "blk.{}.shortconv.conv", .hf = "model.layers.{}.conv.conv", .depthwise = true},
    {"blk.{}.shortconv.out_proj", "model.layers.{}.conv.out_proj"},
    {"blk.{}.ffn_norm", "model.layers.{}.ffn_norm"},
    {"blk.{}.ffn_gate", "model.layers.{}.feed_forward.w1"},
    {"blk.{}.ffn_up", "model.layers.{}.feed_forward.w3"},
    {"blk.{}.ffn_down", "model.layers.{}.feed_forward.w2"},
};
}  // namespace

constinit const FamilyRecord lfm2{.name = "lfm2",
                                  .published = "LFM2 350M to 2.6B",
                                  .block = {.mixers = Mixers::short_conv, .qk_norm = QkNorm::heads},
                                  .last_norm = "token_embd_norm",
                                  .own_names = kNames,
                                  .classes = kClasses};
}  // namespace ruv::family
