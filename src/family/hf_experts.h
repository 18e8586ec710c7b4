// HfExperts: how a model class writes the numbers of its experts in config.json, as data.
#pragma once

#include <cstdint>
#include <string_view>

namespace ruv {

// A key that holds an integer.
struct HfCount {
  // What a config may call it, between spaces; of several that are there all must say the same.
  // Empty: the class has no such key.
  std::string_view names = {};
  int64_t otherwise = 0;  // where none is there; 0: the key is required, if it may not be 0
  bool by_layer = false;  // it may be an array of the same number for each layer
};

// Which layers have experts, and which keys say so.
enum class HfExpertLayers : uint8_t {
  all,
  by_step,      // every n-th by decoder_sparse_step, but for those of mlp_only_layers
  after_first,  // all after HfExperts::first_dense
  interval,     // moe_layer_start_index, moe_layer_end_index, moe_layer_interval
  types,        // mlp_layer_types ("dense", "sparse"), or else after_first
  periodic,     // expert_layer_period, expert_layer_offset
  interleaved,  // moe_layers, or else every n-th by interleave_moe_layer_step
  halves,       // those that HfStateLayers::halves names; there may be none
};

// The numbers are those of the configuration class; what its code computes with them is in the
// family's ExpertSpec.
struct HfExperts {
  HfCount count = {};                 // without a name: the class has no experts
  int64_t fewest = 0;                 // fewer are none
  std::string_view enabled_key = {};  // absent or false: there are none
  HfCount used = {};                  // by a row
  HfCount width = {};                 // of one; without a name: intermediate_size
  // Key of the width of the rows that experts read and give; absent or null: the stream's.
  std::string_view latent_key = {};
  HfExpertLayers layers = HfExpertLayers::all;
  HfCount first_dense = {};  // dense layers before those with experts

  // What the weights are (device/ops.h: RouteParams). Without a key: the default.
  std::string_view normalises_key = {};  // names between spaces
  bool normalises = true;
  // The order of the norm that weights are divided by, null for none; absent: 1, and only that.
  std::string_view norm_order_key = {};
  std::string_view scale_key = {};
  double scale = 1;
  std::string_view least_sum_key = {};
  double least_sum = 0;
  std::string_view jitter_key = {};  // half the closeness of sparsemixer
  double jitter = 0;
  HfCount groups = {}, groups_used = {};
  // Key that says whether groups count: "greedy", also as default, or "group_limited_greedy".
  std::string_view groups_method_key = {};
  // Limit of the experts' gates.
  std::string_view gate_limit_key = {};
  double gate_limit = 0;
  bool sigmoid = false;  // scores are sigmoids, whatever the family's usual ones are
  // "softmax" or "sigmoid"; without a key: as the family.
  std::string_view score_key = {};
  bool chosen_softmax = false;            // a softmax is that of the chosen numbers alone
  bool choice_bias = false;               // experts are chosen by a bias, too
  std::string_view choice_bias_key = {};  // whether they are; absent: as above

  // What all rows share beside the experts: as many as wide as an expert, or one of its own width.
  HfCount shared_count = {}, shared_width = {};
  bool always_shared = false;                // shared_width may not be 0
  std::string_view shared_width_again = {};  // a key that must repeat `width`, or be absent or null
  // "average": both halves count half; "sum". Absent: average.
  std::string_view combines_key = {};
};

}  // namespace ruv
