// MPT: ALiBi, layer norms without biases, a plain feed-forward four times as wide, no biases at
// all.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "wte"},
    {"output_norm", "norm_f"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "blocks.{}.norm_1"},
    {"blk.{}.attn_qkv", "blocks.{}.attn.Wqkv"},
    {"blk.{}.attn_output", "blocks.{}.attn.out_proj"},
    {"blk.{}.ffn_norm", "blocks.{}.norm_2"},
    {"blk.{}.ffn_up", "blocks.{}.ffn.up_proj"},
    {"blk.{}.ffn_down", "blocks.{}.ffn.down_proj"},
};
constexpr NeutralKey kNeutral[] = {{"expansion_ratio", " 4 "},
                                   {"no_bias", " true "},
                                   {"logit_scale", " null "},
                                   {"norm_type", R"( "low_precision_layernorm" "layernorm" )"}};
constexpr NeutralKey kAttention[] = {{"attn_type", R"( "multihead_attention" )"},
                                     {"alibi", " true "},
                                     {"alibi_bias_max", " 8 "},
                                     {"prefix_lm", " false "},
                                     {"qk_ln", " false "},
                                     {"attn_uses_sequence_id", " false "}};
constexpr HfClass kClasses[] = {
    {.model_type = "mpt",
     .class_names = "MptForCausalLM MptModel MPTForCausalLM",
     .sizes = {.layers = "num_hidden_layers n_layers",
               .width = "hidden_size d_model",
               .heads = "num_attention_heads n_heads",
               .kv_heads = "",
               .ff = "",
               .positions = "max_seq_len"},
     .heads_divide = true,
     .act_key = "",
     .act = "gelu",
     .norm_eps_key = "layer_norm_epsilon",
     .norm_eps = 1e-5,
     .max_positions = 2048,
     .n_heads = 16,
     .ignores_head_dim = true,
     .rope = HfRope::none,
     .tied = true,
     .attention_object = "attn_config",
     .attention_neutral = kAttention,
     // What published configs keep of the training. Learned positions are those without ALiBi.
     .without_effect = "learned_pos_emb embedding_fraction init_config init_device verbose "
                       "init_std classifier_dropout emb_pdrop",
     .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord mpt{.name = "mpt",
                                 .published = "MPT 7B and 30B",
                                 .block = {.norm = Norm::layer,
                                           .norm_biases = false,
                                           .positions = Positions::alibi,
                                           .gated = false,
                                           .act = Act::gelu},
                                 .gguf_keys = "attention.max_alibi_bias attention.clamp_kqv",
                                 .vocab = {.splits = "mpt", .nfc = true},
                                 .usual_names = false,
                                 .own_names = kNames,
                                 .classes = kClasses};
}  // namespace ruv::family
