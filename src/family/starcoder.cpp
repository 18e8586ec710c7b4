// StarCoder and SantaCoder (GPT-BigCode): GPT-2 whose queries share one key head.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"output", "lm_head"},
    {"token_embd", "wte"},
    {"position_embd", "wpe"},
    {"output_norm", "ln_f"},
    {"blk.{}.attn_norm", "h.{}.ln_1"},
    {"blk.{}.attn_qkv", "h.{}.attn.c_attn"},
    {"blk.{}.attn_output", "h.{}.attn.c_proj"},
    {"blk.{}.ffn_norm", "h.{}.ln_2"},
    {"blk.{}.ffn_up", "h.{}.mlp.c_fc"},
    {"blk.{}.ffn_down", "h.{}.mlp.c_proj"},
};
constexpr NeutralKey kNeutral[] = {{"add_cross_attention", " false "},
                                   {"scale_attn_weights", " true "}};
constexpr HfClass kClasses[] = {
    {.model_type = "gpt_bigcode",
     .class_names = "GPTBigCodeForCausalLM GPTBigCodeModel",
     .sizes = kShortSizes,
     .ff_is_optional = true,
     .heads_divide = true,
     .multi_query = "multi_query",
     .act_key = "activation_function",
     .act = "gelu_pytorch_tanh",
     .norm_eps_key = "layer_norm_epsilon",
     .norm_eps = 1e-5,
     .max_positions = 1024,
     .ignores_head_dim = true,
     .rope = HfRope::none,
     .tied = true,
     // How softmax was computed, and the heads of other tasks.
     .without_effect = "attention_softmax_in_fp32 scale_attention_softmax_in_fp32 n_ctx "
                       "inference_runner validate_runner_input pre_allocate_kv_cache "
                       "max_sequence_length max_batch_size pad_key_length num_key_value_heads "
                       "summary_type summary_use_proj summary_activation summary_proj_to_labels "
                       "summary_first_dropout classifier_dropout",
     .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord starcoder{.name = "starcoder",
                                       .published = "StarCoder 1B to 15B, SantaCoder",
                                       .block = {.norm = Norm::layer,
                                                 .positions = Positions::learned,
                                                 .qkv_bias = true,
                                                 .all_bias = true,
                                                 .gated = false,
                                                 .act = Act::gelu_tanh},
                                       .vocab = {.splits = "starcoder"},
                                       .qkv_rows = QkvRows::by_key_head,
                                       .usual_names = false,
                                       .own_names = kNames,
                                       .classes = kClasses};
}  // namespace ruv::family
