// HfClass: how one model class of transformers writes its config.json, as data. A family may have
// several classes, which differ in defaults and keys and not in what a block computes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "family/hf_experts.h"
#include "family/hf_state_space.h"

namespace ruv {

struct FamilyRecord;

// A key that changes the computation in a way we do not have. Its value must be neutral: one of
// `allowed`, JSON texts between spaces, or, unless the key is required, null or absent.
struct NeutralKey {
  std::string_view name = {};
  std::string_view allowed = {};
  bool required = false;  // the class's default is none of these
};

// Which layers see only a window, and which keys say so.
enum class HfWindows : uint8_t {
  none,              // the class has no window; keys about one are ignored
  all,               // sliding_window, on all layers
  listed,            // the same, or on those of layer_types
  optional,          // the same, where use_sliding_window is true
  upper,             // use_sliding_window; layers from max_window_layers on, or layer_types
  above,             // the same without use_sliding_window
  alternate,         // use_sliding_window; layers 0, 2, … below max_window_layers, or layer_types
  periodic,          // layer_types, or all but every n-th layer
  periodic_or_none,  // the same, where sliding_window is not null
  prefixed,          // the same, counted anew after dense layers with a period of their own
  local,             // window_size, of the layers that attention_types calls local
  chunks,            // attention_chunk_size, of layers that layer_types names, or that rotate
  never,             // layer_types may name layers that see all
};
enum class HfRope : uint8_t {
  none,
  whole,     // a head is rotated as a whole; partial_rotary_factor is ignored
  partial,   // as much of it as partial_rotary_factor says
  counted,   // as many of its numbers as rotary_dim says; never scaled
  longrope,  // the same; longrope is the only scaling, and has other names
  by_kind,   // rope_parameters hold one object for each kind of layer
};

// Which keys say how queries grow with their position.
enum class HfGrowth : uint8_t {
  none,
  rope,  // llama_4_scaling_beta and original_max_position_embeddings of rope_parameters
  keys,  // attn_temperature_tuning, floor_scale, attn_scale
};
// Defaults of the widths of latent attention, by q_lora_rank (null: none), kv_lora_rank,
// qk_nope_head_dim, qk_rope_head_dim and v_head_dim (0, and where null is allowed null: as much of
// the stream as each head has). kv_rank 0: the class has none.
struct HfLatent {
  int64_t q_rank = 0;
  int64_t kv_rank = 0;
  int64_t plain_dim = 0;
  int64_t rope_dim = 0;
  int64_t value_dim = 0;
  std::string_view rope_alias = {};  // another name of qk_rope_head_dim
  bool part_of_head = false;         // partial_rotary_factor is that width over the head's
};
// Defaults of index_n_heads, index_head_dim and index_topk; 0: the class has no index. Layers that
// share: some read what one before has chosen, by indexer_types or keys that such a list is made
// of.
struct HfIndexer {
  int64_t n_heads = 0;
  int64_t head_dim = 0;
  int64_t n_chosen = 0;
  bool shares = false;
};
// Defaults of altup_num_inputs, altup_active_idx and laurel_rank; 0: the class has one stream. A
// class with more reads altup_correct_scale and activation_sparsity_pattern as well.
struct HfStreams {
  int64_t n = 0;
  int64_t active = 0;
  int64_t low_rank = 0;
};
// Lists with the heads, key heads and factor of the feed-forward's width of each layer, and what
// that width must divide by: the key, and its default. Without names the class has none.
struct HfLayerWidths {
  std::string_view heads = {}, kv_heads = {}, ff_factors = {};
  std::string_view ff_divisor_key = {};
  int64_t ff_divisor = 0;
  std::string_view group_key = {};  // how many heads share a key head
};
// Keys of a class with a matrix memory: the width of queries and keys and that of values, as shares
// of the stream's, and the share of the feed-forward's width, which is rounded up to a multiple;
// the limits of gates and logits, and what divisors have added. Names but that of heads are given.
struct HfMatrixMemory {
  std::string_view heads = {};  // empty: the class has none
  int64_t n_heads = 0;
  double key_share = 0, value_share = 0, ff_share = 0;
  int64_t ff_multiple = 0;
  double gate_cap = 0, logit_cap = 0;
  double eps = 0;
};
// A class that scores texts: its names, the tensors of its two matrices (without a first one it has
// one only) and of a norm between them, and the activation after the first, or the key that says
// it.
struct HfClassifier {
  std::string_view class_names = {};
  std::string_view dense = {}, norm = {}, out = {};
  std::string_view act = {}, act_key = {};
  // What it scores: the state of the first token, "cls" or "bos", the mean of all, "mean", or each,
  // of which it gives the mean of the scores, "late". The words that the class knows, of which the
  // first is the default.
  std::string_view pooling_key = {}, poolings = "cls mean";
};

// What a class calls the sizes of a model: names between spaces, of which the first that is there
// counts; empty: the class has no such key.
struct HfSizeKeys {
  std::string_view layers = "num_hidden_layers";
  std::string_view width = "hidden_size";
  std::string_view heads = "num_attention_heads";
  std::string_view kv_heads = "num_key_value_heads";  // none: as many as heads
  std::string_view ff = "intermediate_size";          // none: four times the width
  std::string_view positions = "max_position_embeddings";
  std::string_view head_dim = "head_dim";
  std::string_view decoder_layers = {};  // BlockSpec::reads_source: absent or null: as many
};
// The names of GPT-2 and its successors.
inline constexpr HfSizeKeys kShortSizes = {.layers = "num_hidden_layers n_layer",
                                           .width = "hidden_size n_embd",
                                           .heads = "num_attention_heads n_head",
                                           .kv_heads = "",
                                           .ff = "n_inner",
                                           .positions = "max_position_embeddings n_positions"};

// Defaults are those of the configuration class (transformers 5.23); 0 and "" where there is none.
// A key that a field names or implies is claimed by the class (claimed_keys); of the others,
// those listed below are without effect or refused, and the rest are not read by the class.
struct HfClass {
  std::string_view model_type = {};
  // The type is another family's, whose class counts where the config names neither of them.
  bool shares_type = false;
  std::string_view class_names = {};  // that `architectures` may name, between spaces
  // Objects, outer ones first, whose members are read as if they were beside them, by names like
  // "attn_config.clip_qkv".
  std::string_view inner_objects = {};
  HfSizeKeys sizes = {};
  bool ff_is_optional = false;        // absent or null: four times the width
  bool heads_divide = false;          // the width is a multiple of the heads
  std::string_view width_again = {};  // a key that must repeat the width, or be absent or null
  // Truth values, null for false: queries share one key head (true where absent); they share as
  // many as the class's key says, whatever the one before says.
  std::string_view multi_query = {}, grouped_query = {};
  std::string_view act_key = "hidden_act";
  std::string_view act = {};  // the default's spelling; empty: the usual one of block.act
  bool gelu_is_tanh = false;  // "gelu" in the config means the tanh form
  std::string_view norm_eps_key = "rms_norm_eps";
  double norm_eps = 1e-6;
  // block_ff_dim and tie_embedding win over the usual names, and the feed-forward's width is made
  // of the one that is given (block_auto_adjust_ff_dim, block_ffn_dim_multiplier,
  // block_multiple_of).
  bool block_keys = false;
  bool short_tie_key = false;  // tie_embedding wins over tie_word_embeddings
  int64_t max_positions = 0;
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;         // 0: as many as heads
  bool null_kv_heads = false;     // "num_key_value_heads": null means as many as heads
  int64_t head_dim = 0;           // 0: hidden_size / heads
  bool null_head_dim = false;     // "head_dim": null means hidden_size / heads
  bool ignores_head_dim = false;  // always hidden_size / heads
  HfLatent latent = {};
  HfIndexer indexer = {};
  HfWindows windows = HfWindows::none;
  int64_t window = 0;
  std::string_view window_key = "sliding_window";
  int64_t max_window_layers = 28;    // default of the key
  bool halves_window = false;        // half of it is seen, the own key included
  std::string_view period_key = {};  // key that gives another period than the block's
  // prefixed: the period of the dense layers; 1, also as the default, rotates them all.
  std::string_view prefix_period_key = {};
  HfRope rope = HfRope::whole;
  // JSON of the object that is read where the config has neither rope_parameters nor rope_scaling.
  std::string_view default_rope = {};
  double rope_base = 10000;
  // longrope: short_mscale and long_mscale scale angles in place of the attention factor.
  bool angle_scales = false;
  bool scales_every_kind = false;  // rope_scaling, where there is an object for each kind of layer
  // What is called otherwise where it is not in an object of its own.
  std::string_view rope_base_key = "rope_theta";
  std::string_view local_base_key = "rope_local_base_freq";
  double local_base = 0;  // 0: the family's
  std::string_view rotary_part_key = "partial_rotary_factor";
  int64_t rotary_dims = 0;         // default of rotary_dim
  std::string_view alibi = {};     // a truth value: ALiBi in place of rotation
  int64_t original_positions = 0;  // original_max_position_embeddings, read beside rope_scaling
  double rotary_part = 1;          // default of partial_rotary_factor
  // Key with the number of rotated dimensions of a head, where partial_rotary_factor is absent.
  std::string_view rotated_dims_key = {};
  // A list of the base of each layer, 0 for those without positions, that counts where it is set.
  std::string_view layer_bases_key = {};
  HfGrowth growth = HfGrowth::none;
  double query_scalar = 0;        // default of query_pre_attn_scalar; 0: the class has none
  bool scores_are_plain = false;  // scores are not divided by the root of a head's size
  bool scales_attention = false;  // scale_attn_weights, scale_attn_by_inverse_layer_idx
  // Keys that say whether projections have biases, where the block does not always have them.
  std::string_view qkv_bias = {}, output_bias = {}, mlp_bias = {};
  std::string_view head_bias = {};  // the same of the output matrix; absent: no
  bool biases_by_default = false;
  bool head_bias_by_default = false;
  // BlockSpec::output_dense: keys of its activation, absent: GELU, and of its bias, absent: no.
  std::string_view output_dense_act = {}, output_dense_bias = {};
  std::string_view qk_norm_key = {};  // whether queries and keys are normalised; absent: no
  bool qk_norm_by_default = false;    // absent: yes
  bool qk_norm_by_tensors = false;    // no key says it: where the file has their tensors
  bool qkv_bias_by_default = false;
  // Sizes of linear attention follow from those of attention where they are absent, and its betas
  // may reach 2 (linear_allow_neg_eigval).
  bool linear_by_heads = false;
  bool rope_optional = false;  // where the base is null, there are no positions
  // BlockSpec::unlike_layers: global_head_dim (its default; 0: heads are alike, the last layer may
  // have a window, and widths may be a list), num_global_key_value_heads and attention_k_eq_v, or
  // per_layer_config, of layers without a window; num_kv_shared_layers (its default),
  // use_double_wide_mlp; hidden_size_per_layer_input (its default), vocab_size_per_layer_input.
  int64_t global_head_dim = 0;
  int64_t sharing_layers = 0;
  int64_t layer_input = 0;
  HfStreams streams = {};
  HfLayerWidths widths = {};  // BlockSpec::widths_by_layer
  HfMatrixMemory memory = {};
  bool tied = false;
  std::string_view tie_key = "tie_word_embeddings";
  // Encoders. The number of token types, by type_vocab_size, where the block has any; the first
  // position is that after the padding token's id; and embeddings may have a width of their own.
  int64_t token_types = 0;
  bool has_token_types = true;
  bool positions_after_padding = false;
  int64_t padding = 0;               // default of pad_token_id
  int64_t embedding_width = 0;       // default of embedding_size; 0: the class has none
  bool whole_embeddings = false;     // absent: as wide as the stream
  std::string_view groups_key = {};  // BlockSpec::repeats_layers: how many layers have weights
  // Distances::numbers. How many buckets, 32 where absent, which without a reach are computed in
  // any case; from which distance on the last one counts, 128 where absent; each layer has numbers
  // of its own.
  std::string_view distance_buckets_key = {}, distance_reach_key = {};
  bool own_distances = false;
  // BlockSpec::gate_optional: a text, the activation, after "gated-" where there are gates; its
  // default.
  std::string_view gated_act_key = {}, gated_act = {};
  // A text that must be there: "geglu" or "reglu", the activation of the gates.
  std::string_view glu_key = {};
  // The embedding is the output matrix whatever tie_word_embeddings says, unless the file has
  // another; where that is not false, logits are divided by the root of the width.
  bool always_tied = false, divides_tied_logits = false;
  HfClassifier classifier = {};
  // Where this key is true, the model is of a family of encoders.
  std::string_view encoder_key = {};
  const FamilyRecord* encoder = nullptr;
  // The family of models some of whose layers have experts (HfExpertLayers::halves).
  const FamilyRecord* with_experts = nullptr;
  bool nested = false;  // the decoder's settings are in text_config
  HfExperts experts = {};
  HfStateSpace state_space = {};
  // The feed-forward's width where the number of experts is 0, in place of sizes.ff.
  std::string_view ff_without_experts = {};
  // Heads are rotated where this key is "rope", else there are no positions.
  std::string_view position_type_key = {};
  // Keys of numbers that multiply embeddings, what a block adds, scores and logits; absent: 1.
  std::string_view embed_scale = {}, residual_scale = {}, attn_scale = {}, logit_scale = {};
  bool attn_scale_by_size = false;  // absent or null: by the size of a head, in place of 1
  double logit_scale_default = 1;
  double embed_scale_default = 1;
  // residual_scale is divided by the root of the number of layers, and null means 1 in its place.
  bool residual_by_depth = false;
  double residual_scale_default = 1;
  // Logits are multiplied by this key's number over the hidden size; null: 1.
  std::string_view logit_width = {};
  double logit_width_default = 0;
  // Whether embeddings are multiplied by the root of their width; absent: no.
  std::string_view root_embed_key = {};
  std::string_view parallel_key = {};  // whether BlockSpec::parallel; absent: as the block
  std::string_view clamp_key = {};     // limit of the numbers in q, k and v
  // An object with that limit (clip_qkv) and the scale of scores (softmax_scale); of its other keys
  // these must be neutral.
  std::string_view attention_object = {};
  std::span<const NeutralKey> attention_neutral = {};
  std::string_view rotated_key = {};    // a list: 0 for layers without positions
  std::string_view unrotated_key = {};  // the period of such layers, where there is no list

  std::string_view without_effect = {};  // keys between spaces
  std::span<const NeutralKey> neutral = {};
};

}  // namespace ruv
