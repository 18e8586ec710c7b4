// config.json of a HuggingFace checkpoint as GGUF metadata: the same keys and meanings, so that a
// model is built from either container by the same code. Old configs (rope_theta, rope_scaling) and
// those of transformers 5 (rope_parameters) both read, with the meaning that transformers 5 gives
// them.
//
// Keys beyond what GGUF files have, all after "<architecture>.":
//   ssm_bias, ssm_out_bias             truth values: the projections before and after a selective
//                                      scan have biases
//   ssm.dt_b_c_rms_epsilon             number: of the norms of its inputs
//   ssm.norm, ssm.norm_before_gate     truth values: its results are normalised, before their gate
//   ssm.time_step_limit                least and greatest step
//   ssm.hidden_act                     text: the activation after its convolution (Nemotron-H)
//   attention.key_scale                number: of keys
//   ssm.scales, attention.scales, feed_forward.scales     numbers: what h and the result of a scan
//                                      and its z, x, b, c and steps are multiplied by; what
//                                      attention reads and gives; a feed-forward's gate and result
//   token_type_count                   integer: rows of the table of token types; 0: there is none
//   position_offset                    integer: rows of the table of positions before the first one
//   unplaced_token                     integer: a token without a position, which no text may have
//   embedding_length_in                integer: width of the tables of embeddings
//   layer_group_count                  integer: how many layers have weights of their own (ALBERT)
//   classifier.activation              text: between the matrices of a classifier; it has one
//   classifier.of_mean                 truth value: it scores the mean of all states
//   classifier.of_each                 truth value: its scores are the mean of those of each state
//   normalize_embeddings               truth value: vectors of texts are scaled to a length of 1
//   conv_bias                          truth value: convolutions and their projections have biases
//   expert_layers                      truth value of each layer: it has experts
//   expert_choice_bias                 truth value: a bias helps to choose them
//   expert_weights_least_sum           number: what weights are divided by, at least
//   expert_closeness                   number: of sparsemixer (device/ops.h)
//   expert_gate_limit                  number: limit of the gates of experts; 0: none
//   lm_head_bias                       truth value: the output matrix has a bias
//   hidden_act                         text, "silu", "gelu_pytorch_tanh", "gelu_new", …
//   tie_word_embeddings                truth value
//   use_qk_norm                        truth value: queries and keys are normalised
//   attention.indexer.shared_layers    truth value of each layer: it reads what one before it chose
//   rope.rotated_layers                truth value of each layer: it has positions
//   attention_bias, attention_output_bias, mlp_bias       truth values: q, k and v have biases, the
//                                      projection after attention, the feed-forward
//   attention.query_pre_attn_scalar    number (Gemma 2, 3)
//   attention.scale_by_inverse_layer_idx                  truth value (GPT-2)
//   rope.scaling.low_freq_factor, .high_freq_factor       numbers (llama3)
//   rope.scaling.yarn_truncate         truth value: YaRN's ramp begins and ends at whole pairs
//   rope.scaling.ends_with_context     truth value: no positions beyond context_length, because the
//                                      frequencies would change with the length (dynamic NTK)
//   rope.scaling.short_factor, .long_factor               arrays of rope.dimension_count / 2
//   rope.freq_divisors                 numbers: of frequencies; GGUF files have a tensor of them
//   attention.values_are_keys          truth value: layers without a window have no other values
//   rope.freq_base_swa, rope.scaling.factor_swa           numbers: RoPE base and linear scaling of
//                                      windowed layers (Gemma 3)
//   draft_vocab_size, target_hidden_size                  integers: outputs of a drafting head, and
//                                      the width of the model that it drafts for
//   norm_before_residual               truth value: of a drafting head (model/draft_head.h)
//   ahead.head_count, ahead.block_count                   integers: of heads that read the same
//                                      state, and of the blocks of each
//   ahead.block_bias, ahead.own_outputs, ahead.shared_output                truth values: their
//                                      blocks have biases (absent: as the file has them); they have
//                                      output matrices; the first one's is that of all
//   target_layers                      integers: how many layers of that model are before the
//                                      places that it reads
//   attention.sliding_window_pattern   integer p: every p-th layer (layer % p == p - 1) sees all,
//                                      the others a window; or an array of truth values, true for
//                                      layers with a window. Absent: the window is on all layers.
//   encoder.*                          any of the others: of the encoder, where the sides are
//   unlike
#pragma once

#include <span>

#include "base/faults.h"
#include "family/family.h"
#include "format/foreign/foreign_config.h"
#include "format/model_file.h"

namespace ruv {

// A file of several drafting heads that read the same state, each blocks and an output matrix.
struct HfParallelHeads {
  int64_t n = 0;  // 0: the file has none
  int64_t n_blocks = 0;
  bool is_of_class = false;     // the config names a class, whose tensors have names of its own
  bool class_has_bias = false;  // its blocks have biases
  bool shares_output = false;   // all heads have the first one's matrix
  bool has_tokens = false;      // outputs are fewer than the model's

  // Whether it is of a head after the n.
  bool is_behind(std::string_view hf_name) const;
  // "ahead.0.block.0.weight", "ahead.0.output.weight", "d2t"; empty: it has no role.
  std::string gguf_of(std::string_view hf_name) const;
  // The inverse; a name without a role as it is.
  std::string hf_of(std::string_view gguf_name) const;
};

struct HfConfig {
  const FamilyRecord* family = nullptr;  // null when we do not know it
  const HfClass* hf = nullptr;           // the model class; null as the family
  std::string architecture;  // the family's name, or the config's own when we do not know it
  MetaMap metadata;          // only general.architecture when we do not know the architecture
  // What a GGUF key is called in the config: "block_count" is "num_hidden_layers".
  std::map<std::string, std::string, std::less<>> names;
  bool tied_embeddings = false;  // an output matrix in the file need not be there
  // Keys that ask for something we do not compute (unsupported), each named with its value. The
  // metadata then lacks what was to be read of them.
  Faults faults;
  // Keys the model class does not read, and choices between keys that contradict each other.
  std::vector<std::string> remarks;
  std::vector<std::string> ignored;  // those of ignored_keys that were there

  std::optional<ForeignConfig> foreign;  // how the weights are quantised; nothing: they are not

  HfParallelHeads parallel;
  const HfClassifier* classifier = nullptr;  // null: the class scores no texts
  // The GGUF name of a tensor of the classifier; empty for others.
  std::string classifier_tensor(std::string_view hf_name) const;
  // Whether the model class has the tensor; true for all when the architecture is unknown. n_ahead:
  // layers after the class's own.
  bool has_tensor(std::string_view gguf_name, int64_t n_ahead = 0) const;
  // The same of tensors for positions and distances, by the config's keys; true for others.
  bool has_distance_tensor(std::string_view gguf_name) const;
};

// `ignored_keys`: members that are taken as absent, as errors name them ("rope_scaling.factor").
// Fails: corrupt (not JSON, a field is missing, of another type or out of range; it is named).
Result<HfConfig> parse_hf_config(std::string_view text, const std::string& source,
                                 std::span<const std::string> ignored_keys = {});

}  // namespace ruv
