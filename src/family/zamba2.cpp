// Zamba 2: a selective scan by head in every layer, in some after a block of attention and
// feed-forward. Few blocks are used by many layers in turn, each with matrices of low rank of its
// own. A block reads the stream and the embeddings, and what it gives is read by the scan only.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kNeutral[] = {{"use_long_context", " false "}};
constexpr HfClass kClasses[] = {
    {.model_type = "zamba2",
     .class_names = "Zamba2ForCausalLM Zamba2Model",
     .ff_is_optional = true,
     .act = "gelu",
     .norm_eps = 1e-5,
     .max_positions = 4096,
     .n_heads = 32,
     .null_kv_heads = true,
     .ignores_head_dim = true,
     .rotary_part_key = "",
     .mlp_bias = "add_bias_linear",
     .tied = true,
     .state_space = {.state = {"mamba_d_state", 64},
                     .taps = {"mamba_d_conv", 4},
                     .expand = {"mamba_expand", 2},
                     .heads = {"n_mamba_heads", 8},
                     .head_dim = {"mamba_headdim"},
                     .groups = {"mamba_ngroups", 1},
                     .bias = "add_bias_linear",
                     .least_step = "time_step_min",
                     .layers = HfStateLayers::shared},
     // Some are made of others, and the config of a published model may still have them.
     .without_effect = "use_mamba_kernels use_conv_bias use_mem_eff_path chunk_size kv_channels "
                       "num_query_groups time_step_max time_step_floor time_step_limit "
                       "num_logits_to_keep use_shared_mlp_adapter use_shared_block_lora "
                       "vocab_file lora_rank ffn_hidden_size mamba_dt_rank",
     .neutral = kNeutral}};
constexpr TensorName kNames[] = {
    {"output_norm", "model.final_layernorm"},
    {"blk.{}.attn_norm", "model.layers.{}.shared_transformer.input_layernorm"},
    {"blk.{}.attn_q", "model.layers.{}.shared_transformer.self_attn.q_proj"},
    {"blk.{}.attn_k", "model.layers.{}.shared_transformer.self_attn.k_proj"},
    {"blk.{}.attn_v", "model.layers.{}.shared_transformer.self_attn.v_proj"},
    {"blk.{}.attn_output", "model.layers.{}.shared_transformer.self_attn.o_proj"},
    {"blk.{}.attn_q_adapter_a.{}",
     "model.layers.{}.shared_transformer.self_attn.linear_q_adapter_list.{}.0"},
    {"blk.{}.attn_q_adapter_b.{}",
     "model.layers.{}.shared_transformer.self_attn.linear_q_adapter_list.{}.1"},
    {"blk.{}.attn_k_adapter_a.{}",
     "model.layers.{}.shared_transformer.self_attn.linear_k_adapter_list.{}.0"},
    {"blk.{}.attn_k_adapter_b.{}",
     "model.layers.{}.shared_transformer.self_attn.linear_k_adapter_list.{}.1"},
    {"blk.{}.attn_v_adapter_a.{}",
     "model.layers.{}.shared_transformer.self_attn.linear_v_adapter_list.{}.0"},
    {"blk.{}.attn_v_adapter_b.{}",
     "model.layers.{}.shared_transformer.self_attn.linear_v_adapter_list.{}.1"},
    {"blk.{}.ffn_norm", "model.layers.{}.shared_transformer.pre_ff_layernorm"},
    {.gguf = "blk.{}.ffn_gate",
     .hf = "model.layers.{}.shared_transformer.feed_forward.gate_up_proj",
     .other = "blk.{}.ffn_up"},
    {"blk.{}.ffn_down", "model.layers.{}.shared_transformer.feed_forward.down_proj"},
    {"blk.{}.ffn_adapter_a.{}",
     "model.layers.{}.shared_transformer.feed_forward.gate_up_proj_adapter_list.{}.0"},
    {.gguf = "blk.{}.ffn_gate_adapter_b.{}",
     .hf = "model.layers.{}.shared_transformer.feed_forward.gate_up_proj_adapter_list.{}.1",
     .other = "blk.{}.ffn_up_adapter_b.{}"},
    {"blk.{}.block_out", "model.layers.{}.linear"},
    {"blk.{}.ssm_pre_norm", "model.layers.{}.mamba_decoder.input_layernorm"},
    {"blk.{}.ssm_in", "model.layers.{}.mamba_decoder.mamba.in_proj"},
    {.gguf = "blk.{}.ssm_conv1d",
     .hf = "model.layers.{}.mamba_decoder.mamba.conv1d",
     .depthwise = true},
    whole("blk.{}.ssm_dt.bias", "model.layers.{}.mamba_decoder.mamba.dt_bias"),
    whole("blk.{}.ssm_a", "model.layers.{}.mamba_decoder.mamba.A_log"),
    whole("blk.{}.ssm_d", "model.layers.{}.mamba_decoder.mamba.D"),
    {"blk.{}.ssm_norm", "model.layers.{}.mamba_decoder.mamba.norm"},
    {"blk.{}.ssm_out", "model.layers.{}.mamba_decoder.mamba.out_proj"},
    {"blk.{}.ssm_in", "model.layers.{}.mamba.in_proj"},
    {.gguf = "blk.{}.ssm_conv1d", .hf = "model.layers.{}.mamba.conv1d", .depthwise = true},
    whole("blk.{}.ssm_dt.bias", "model.layers.{}.mamba.dt_bias"),
    whole("blk.{}.ssm_a", "model.layers.{}.mamba.A_log"),
    whole("blk.{}.ssm_d", "model.layers.{}.mamba.D"),
    {"blk.{}.ssm_norm", "model.layers.{}.mamba.norm"},
    {"blk.{}.ssm_out", "model.layers.{}.mamba.out_proj"},
};
}  // namespace

constinit const FamilyRecord zamba2{
    .name = "zamba2",
    .published = "Zamba 2 1.2B, 2.7B and 7B",
    .block = {.mixers = Mixers::state_or_attention,
              .linear_norm_eps = 1e-5F,
              .state_space = StateSpace::heads,
              .act = Act::gelu,
              .shared_blocks = true},
    .gguf_keys =
        " shared_block.count shared_block.attention_rank shared_block.feed_forward_rank "
        "rope.scaling.finetuned ",
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
