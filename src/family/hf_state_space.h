// HfStateSpace: how a model class writes the numbers of its state spaces in config.json, as data.
#pragma once

#include <cstdint>
#include <string_view>

namespace ruv {

// Which layers are state spaces, and which keys say so.
enum class HfStateLayers : uint8_t {
  all,
  types,      // layer_types or layers_block_type, a kind for each layer; absent: all
  attention,  // attn_layer_indices lists the others; absent: all
  halves,     // layers_block_type or hybrid_override_pattern: scans, attention or feed-forwards
  periodic,   // all but one of each period (attn_layer_period, attn_layer_offset)
  shared,     // all; those that layer_types or layers_block_type calls hybrid follow a block
};

// An integer with its default; without a name the class has no such key.
struct HfNumber {
  std::string_view name = {};
  int64_t otherwise = 0;
};

// Defaults are those of the configuration class.
struct HfStateSpace {
  HfNumber state = {};  // without a name: the class has no state spaces
  HfNumber taps = {};
  HfNumber expand = {};    // the inner width over the stream's
  HfNumber inner = {};     // the inner width; null (0: also absent): by `expand`
  HfNumber heads = {};     // without a name: rates are those of columns
  HfNumber head_dim = {};  // 0: "auto", inner width / heads
  HfNumber groups = {};
  std::string_view rank = {};       // columns: width of the row that steps are made of, or "auto"
  std::string_view input_eps = {};  // columns: of the norms of that row and of b and c, if any
  double input_eps_default = 0;
  // Truth values: whether there are biases of the projections, of the last one where that has a key
  // of its own, and of the convolution; whether results are normalised, and before they are gated.
  std::string_view bias = {}, out_bias = {}, conv_bias = {}, norm = {}, norm_first = {};
  bool limits_steps = false;         // time_step_limit
  std::string_view least_step = {};  // a number; absent: 0.001
  std::string_view act = {};         // of the convolution, where that has its own
  HfStateLayers layers = HfStateLayers::all;
  // Keys of Falcon-H1 that multiply what parts of a block read and give.
  bool multipliers = false;
};

}  // namespace ruv
