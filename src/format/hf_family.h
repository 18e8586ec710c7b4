// HfFamily: what is special about the configs of one HuggingFace model class, as data. The lists
// say of every key the class has what we do with it; tests/oracle/compare_config_keys.py compares
// them with the classes of the installed transformers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ruv {

// A key that changes the computation in a way we do not have. Its value must be neutral: one of
// `allowed`, JSON texts between spaces, or absent.
struct NeutralKey {
  std::string_view name = {};
  std::string_view allowed = {};
};

// Which layers see only a window, and which keys say so.
enum class HfWindows : uint8_t {
  none,      // the class has no window; keys about one are ignored
  all,       // sliding_window, on all layers
  upper,     // use_sliding_window; layers from max_window_layers on, or layer_types
  periodic,  // layer_types, or all but every n-th layer
};
enum class HfRope : uint8_t {
  none,
  whole,    // a head is rotated as a whole; partial_rotary_factor is ignored
  partial,  // as much of it as partial_rotary_factor says
  by_kind,  // rope_parameters hold one object for each kind of layer
};

// Defaults are those of the configuration class (transformers 5.23); 0 and "" where there is none.
struct HfFamily {
  std::string_view model_type = {};
  std::string_view classes = {};  // that `architectures` may name, between spaces
  std::string_view gguf = {};
  std::string_view act_key = "hidden_act";
  std::string_view act = "silu";
  std::string_view norm_eps_key = "rms_norm_eps";
  bool layer_norm = false;  // else RMS norm
  double norm_eps = 1e-6;
  bool gpt_names = false;  // n_embd, n_layer, …; the usual names are aliases that win
  int64_t max_positions = 0;
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;         // 0: as many as heads
  bool null_kv_heads = false;     // "num_key_value_heads": null means as many as heads
  int64_t head_dim = 0;           // 0: hidden_size / heads
  bool ignores_head_dim = false;  // always hidden_size / heads
  HfWindows windows = HfWindows::none;
  int64_t window = 0;
  int64_t window_period = 0;
  std::string_view period_key = {};  // key that gives another period
  HfRope rope = HfRope::whole;
  double rope_base = 10000;
  double query_scalar = 0;  // default of query_pre_attn_scalar; 0: the class has none
  bool attn_softcap = false, final_softcap = false;  // the class computes them
  bool scales_attention = false;  // scale_attn_weights, scale_attn_by_inverse_layer_idx
  // Keys that say whether projections have biases; "true" and "" mean always and never.
  std::string_view qkv_bias = {}, output_bias = {}, mlp_bias = {};
  bool norms_minus_one = false;
  bool tied = false;
  bool nested = false;   // the decoder's settings stand in text_config
  bool experts = false;  // num_local_experts

  // Keys between spaces. Beyond these lists the class reads nothing.
  std::string_view honoured = {};
  std::string_view without_effect = {};
  std::span<const NeutralKey> neutral = {};
};

std::span<const HfFamily> hf_families();
// Null when we do not have the family.
const HfFamily* find_hf_family(std::string_view model_type);

// Keys of every class that change no logits of text: names, token ids, dropout, training, …
std::string_view hf_keys_without_effect();
// Keys that the machinery around every class reads.
std::span<const NeutralKey> hf_neutral_keys();
// Keys of rope_parameters and rope_scaling that some kind of scaling reads here, and those that
// only kinds read which are refused.
std::string_view hf_rope_keys();
std::string_view hf_rope_keys_without_effect();
// Keys beside text_config in a nested config; the honoured ones and the others.
std::string_view hf_outer_keys();
std::string_view hf_outer_keys_without_effect();

// Whether `word` is one of the words of `list`.
bool is_word_of(std::string_view list, std::string_view word);
std::vector<std::string_view> words_of(std::string_view list);

}  // namespace ruv
