// HParams: the numbers of one file, read and checked once.
#pragma once

#include <algorithm>
#include <memory>

#include "device/ops.h"
#include "family/family.h"
#include "format/model_file.h"
#include "model/delta_heads.h"
#include "model/gated_recurrence.h"
#include "model/index_plan.h"
#include "model/latent_plan.h"
#include "model/matrix_memory.h"
#include "model/relative_plan.h"
#include "model/shared_plan.h"
#include "model/state_space.h"
#include "model/stream_plan.h"
#include "model/time_mix.h"
#include "ruv/kv_type.h"

namespace ruv {

struct HParams {
  int64_t n_layers = 0;
  int64_t n_ahead = 0;  // layers after them, which predict tokens further ahead
  // BlockSpec::reads_source: how many of these, the first ones, are the encoder's; the token that
  // an answer begins after.
  int64_t n_encoder_layers = 0;
  int32_t start_token = -1;
  // BlockSpec::unlike_sides: the encoder's numbers; the others are then the decoder's. Null: they
  // are both's.
  std::shared_ptr<const HParams> encoder = nullptr;
  int64_t n_embd = 0;
  int64_t n_heads = 0;
  std::vector<int64_t> heads;     // of each layer; n_heads is the most
  int64_t n_kv_heads = 0;         // of a layer with attention
  std::vector<int64_t> kv_heads;  // of each layer; 0: it has something else in place of attention
  int64_t n_conv_taps = 0;        // rows that a convolution sums
  DeltaHeads delta = {};          // of layers with linear attention
  TimeMixPlan time_mix = {};      // of layers with a time mix
  GatedRecurrencePlan recurrence = {};
  MatrixMemoryPlan memory = {};
  StateSpacePlan state_space = {};
  int64_t halve_every = 0;  // layers after which the stream is halved; 0: never
  int64_t head_dim = 0;     // of queries and keys; of latent attention, of a query head
  int64_t value_dim = 0;    // of a head's values
  // BlockSpec::unlike_layers: the size of a head in windowed layers; how many of the last layers
  // keep no keys and values; whether layers without a window have keys for values; the width of
  // each layer's own input, 0: there is none.
  int64_t local_head_dim = 0;
  int64_t n_sharing_layers = 0;
  std::vector<bool> values_are_keys;  // by layer
  int64_t n_layer_input = 0;
  StreamPlan streams = {};
  std::vector<float> gate_cuts;  // by layer, with streams only
  // BlockSpec::shared_blocks: how many there are, 0: none, and the ranks of each use.
  int64_t n_shared_blocks = 0;
  SharedPlan shared = {};
  LatentPlan latent = {};
  IndexPlan index = {};
  int64_t n_ff = 0;
  // By layer, BlockSpec::one_half, unlike_layers and widths_by_layer only; 0: it has no such half.
  std::vector<int64_t> ff_widths;
  Act act = Act::silu;
  bool gates = true;         // feed-forwards are gated
  bool xielu = false;        // in place of act
  Act scan_act = Act::silu;  // of the convolution before a scan
  Act output_dense_act = Act::gelu;
  int64_t n_experts = 0;  // 0: no layer has any
  int64_t n_experts_used = 0;
  int64_t n_ff_expert = 0;
  int64_t n_latent = 0;          // width of the rows that experts read and give; 0: the stream's
  bool averages_shared = false;  // what these give and what experts give counts half
  int64_t n_ff_shared = 0;  // inner width of the experts that all rows share; 0: there are none
  RouteParams route = {};
  GateLimits gate_limits = {};  // of experts
  int64_t n_vocab = 0;
  int64_t n_ctx_train = 0;
  bool ends_with_context = false;  // there are no positions beyond n_ctx_train
  Positions positions = Positions::rope;
  float max_alibi_bias = 0;  // with Positions::alibi
  RelativePlan relative = {};
  RelativePlan answer_relative = {};  // of a decoder beside an encoder
  // How many keys a windowed layer sees, the own one included; 0: all. Where rows see each other,
  // the number of places from the first of them to the last, the own one not counted.
  int64_t window = 0;
  // The rows of a text see each other. Such a model encodes.
  bool bidirectional = false;
  bool encodes = false;         // it has hidden states and no output matrix
  int64_t position_offset = 0;  // learned: rows of the table before the first position's
  // A token that has no position (padding), which a text must not have; -1: there is none.
  int64_t unplaced_token = -1;
  int64_t n_embd_in = 0;  // width of the tables of embeddings
  float norm_eps = 0;
  float attn_scale = 0;
  bool scale_by_inverse_layer = false;  // layer i divides attn_scale by i + 1
  float attn_softcap = 0;
  float final_softcap = 0;
  float embed_scale = 1;
  float residual_scale = 1;  // of what a block adds to the stream
  float logit_scale = 1;
  // Factors: what attention reads and gives beside a state space, and a feed-forward's gate and
  // result.
  std::array<float, 2> attention_scales = {1, 1}, ff_scales = {1, 1};
  float clamp_qkv = 0;       // limit of the numbers in q, k and v; 0: none
  bool parallel = false;     // attention and feed-forward read the same stream
  bool shared_norm = false;  // and one norm is before both
  bool sums_twice = false;   // attention's sum is normalised, added to once more, and normalised
  bool qk_norm = true;       // queries and keys are normalised, as the family does it

  // The share of a layer's experts that a row uses; 0: there are none.
  double share_of_experts() const {
    if (n_experts == 0) return 0;
    return static_cast<double>(n_experts_used) / static_cast<double>(n_experts);
  }
  bool reads_source() const { return n_encoder_layers > 0; }
  const HParams& of_encoder() const { return encoder != nullptr ? *encoder : *this; }
  // The type of the cache where none is asked for. What latent attention keeps is short already,
  // and a row's two parts would share a scale.
  // An encoder keeps nothing beyond a step; one before a decoder attends through its cache.
  KvType default_kv() const {
    if (latent.kv_rank > 0 || bidirectional || reads_source()) return KvType::f16;
    return default_kv_type(local_head_dim > 0 ? std::min(head_dim, local_head_dim) : head_dim);
  }
  float attn_scale_of(int64_t layer) const {
    return scale_by_inverse_layer ? attn_scale / static_cast<float>(layer + 1) : attn_scale;
  }
};

// Fails: not_found (a key is missing), corrupt (out of range), unsupported (a feature we lack),
// each naming the key.
Result<HParams> read_hparams(const ModelFile& file, const FamilyRecord& family);

// A length or count that must be above 0 and far below 2^31. Fails: not_found, corrupt.
Result<int64_t> read_dimension(const ModelFile& file, std::string_view key);

// A truth value, or `absent`. Fails: corrupt.
Result<bool> truth_or(const ModelFile& file, std::string_view key, bool absent);

}  // namespace ruv
