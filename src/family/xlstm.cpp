// xLSTM (7B): a matrix memory in the place of attention in all layers.
#include "family/families.h"

namespace ruv::family {
namespace {
// Matrices that are stored as one, and biases of all of them; a stream that is not normalised at
// last; states of fewer bits.
constexpr NeutralKey kNeutral[] = {{"use_bias", " false "},
                                   {"weight_mode", R"( "single" )"},
                                   {"add_out_norm", " true "},
                                   {"inference_state_dtype", R"( "float32" )"}};
constexpr HfClass kClasses[] = {
    {.model_type = "xlstm",
     .class_names = "xLSTMForCausalLM xLSTMModel",
     .sizes = {.layers = "num_blocks num_hidden_layers",
               .heads = "",
               .kv_heads = "",
               .ff = "",
               .positions = ""},
     .width_again = "embedding_dim",
     .act_key = "",
     .norm_eps_key = "norm_eps",
     .max_positions = 1 << 20,
     .ignores_head_dim = true,
     .rope = HfRope::none,
     .memory = {.heads = "num_heads",
                .n_heads = 8,
                .key_share = 0.5,
                .value_share = 1,
                .ff_share = 2.667,
                .ff_multiple = 64,
                .gate_cap = 15,
                .logit_cap = 30,
                .eps = 1e-6},
     // How and in which chunks it is computed.
     .without_effect = "norm_reduction_force_float32 chunkwise_kernel sequence_kernel step_kernel "
                       "mode chunk_size return_last_states autocast_kernel_dtype "
                       "max_inference_chunksize qk_head_dim v_head_dim",
     .neutral = kNeutral}};
constexpr TensorName kNames[] = {
    {"token_embd", "backbone.embeddings"},
    {"output_norm", "backbone.out_norm"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "backbone.blocks.{}.norm_mlstm"},
    {"blk.{}.memory_q", "backbone.blocks.{}.mlstm_layer.q"},
    {"blk.{}.memory_k", "backbone.blocks.{}.mlstm_layer.k"},
    {"blk.{}.memory_v", "backbone.blocks.{}.mlstm_layer.v"},
    {"blk.{}.memory_gate", "backbone.blocks.{}.mlstm_layer.ogate_preact"},
    {"blk.{}.memory_in", "backbone.blocks.{}.mlstm_layer.igate_preact"},
    {"blk.{}.memory_forget", "backbone.blocks.{}.mlstm_layer.fgate_preact"},
    {"blk.{}.memory_norm", "backbone.blocks.{}.mlstm_layer.multihead_norm"},
    {"blk.{}.memory_out", "backbone.blocks.{}.mlstm_layer.out_proj"},
    {"blk.{}.ffn_norm", "backbone.blocks.{}.norm_ffn"},
    {"blk.{}.ffn_gate", "backbone.blocks.{}.ffn.proj_up_gate"},
    {"blk.{}.ffn_up", "backbone.blocks.{}.ffn.proj_up"},
    {"blk.{}.ffn_down", "backbone.blocks.{}.ffn.proj_down"},
};
}  // namespace

constinit const FamilyRecord xlstm{
    .name = "xlstm",
    .published = "xLSTM 7B",
    .block = {.mixers = Mixers::matrix_memory, .positions = Positions::none, .gate_bias = true},
    .final_softcap = {.otherwise = 30},
    .gguf_keys =
        " matrix_memory.head_count matrix_memory.key_length matrix_memory.value_length "
        "matrix_memory.gate_softcapping matrix_memory.epsilon ",
    .usual_names = false,
    .own_names = kNames,
    .base_prefix = "backbone.",
    .classes = kClasses};
}  // namespace ruv::family
