// Model: a family's record, a file's numbers, and named weights, with tokenizer and chat template.
// Immutable after loading; adapters are separate values.
#pragma once

#include <array>
#include <memory>

#include "chat/chat_template.h"
#include "device/kv_pages.h"
#include "device/weight_pager.h"
#include "format/model_file.h"
#include "format/pair_form.h"
#include "model/classifier.h"
#include "model/embed_plan.h"
#include "model/layer_plan.h"
#include "ruv/model.h"
#include "text/tokenizer.h"

namespace ruv {

// A matrix (n_out, n_in) with its bias (n_out). An empty bias is none.
struct Linear {
  Weight weight;                // empty in roles of experts and of single heads
  std::vector<Weight> experts;  // of each expert or head, in these roles
  Vector bias;
  std::vector<Vector> expert_biases;  // of each; none: experts have no biases

  // All matrices of the role.
  std::span<const Weight> matrices() const {
    return experts.empty() ? std::span(&weight, weight.empty() ? 0 : 1) : std::span(experts);
  }
};
struct NormWeights {
  Vector weight, bias;
};

// What rows are mixed with those before them for.
enum class TimeShare : uint8_t { r, w, k, v, a, g };
inline constexpr size_t kTimeShares = 6;
// Two matrices with a narrow row between them.
struct LowRankPair {
  Linear down, up;
};
// What a time mix and a channel mix have besides roles (model/time_mix.h). Shares are those of the
// row before.
struct TimeMixWeights {
  std::array<Vector, kTimeShares> shares;
  Vector first_share;  // dynamic: of the rows that shares are made of
  Linear shares_down;  // and the matrices that make them
  std::array<Linear, kTimeShares> shares_up;
  LowRankPair decays, rates, gates, value_shares;
  Vector decay, bonus;
  Vector removed_key, key_share;
  NormWeights norm;  // of heads
  Vector channel_share_k, channel_share_r;
};

// A gated linear recurrence's gates have a matrix for each head.
struct GatedRecurrenceWeights {
  std::vector<Weight> input_gates, decay_gates;
  Vector input_bias, decay_bias, rate;
};

// A selective scan has these beside its roles (device/ops.h: ColumnScanParams, HeadScanParams).
struct StateSpaceWeights {
  Vector rate, step_bias, skip;
  Vector low_norm, b_norm, c_norm;  // StateSpacePlan::norms_inputs only
};

// Roles that the layer's plan does not have are empty.
struct LayerWeights {
  std::array<Linear, kRoles> linears;
  std::array<NormWeights, kNormRoles> norms;
  Vector key_centre;       // model/key_centre.h
  Vector choice_bias;      // by which experts are chosen, beside their scores; empty: none
  Vector expert_scales;    // (n_experts): RouteParams::expert_scales; empty: none
  float stream_scale = 1;  // LayerPlan::scales_stream
  Vector active_scale;     // (n_embd): StreamPlan::scales_active; empty: none
  Vector sinks;            // (n_heads): AttendParams::sinks; empty: the layer has none
  Vector distances;        // DistanceScores::table; Distances::numbers only
  // Keys and queries of distances, for each head (columns, head_dim); empty: none.
  std::vector<Weight> distance_keys, distance_queries;
  // A convolution's filters (n_conv_taps, columns), the tap of the oldest row first, and (columns).
  Vector conv_taps, conv_bias;
  // Linear attention: DeltaRuleParams; the norm of a head's values. inner_norm also of the groups
  // of a scan, one after the other.
  Vector decay_rate, decay_bias, inner_norm;
  TimeMixWeights time_mix;
  GatedRecurrenceWeights recurrence;
  StateSpaceWeights state_space;

  Linear& operator[](Role role) { return linears[static_cast<size_t>(role)]; }
  const Linear& operator[](Role role) const { return linears[static_cast<size_t>(role)]; }
  NormWeights& operator[](NormRole role) { return norms[static_cast<size_t>(role)]; }
  const NormWeights& operator[](NormRole role) const { return norms[static_cast<size_t>(role)]; }
};

struct Model;

// One of several drafting heads that read the model's last state x, of a token each: blocks give
// x + silu(block · x), one after the other, and the output its logits.
struct ParallelHead {
  std::vector<Linear> blocks;
  Weight output;  // empty: the model's
};

// Places between layers that a drafting head reads the stream at.
inline constexpr size_t kTaps = 3;
// What a drafting head has besides its layer (model/draft_head.h).
struct DraftHead {
  NormWeights embd_norm, hidden_norm, norm;
  Weight join;                // (n_embd, 2 · n_embd); with taps (n_embd, 3 · n_embd)
  Weight token_embd, output;  // empty: the model's
  // Only heads of files of their own have these:
  std::shared_ptr<const Model> source;  // whose file and packed file have the weights
  // The stream after as many layers is read, ascending; 0 in the source: the usual places.
  std::array<int64_t, kTaps> taps{};
  bool adds_to_normed = false;  // attention is added to the normalised state
  std::vector<Token> tokens;    // that its outputs mean; empty: those of the model
  // Set: there is nothing else but source and tokens.
  std::vector<ParallelHead> parallel;

  bool has_layer() const { return parallel.empty(); }
  bool reads_taps() const { return source != nullptr && has_layer(); }
};
struct PairPrompt;

// BlockSpec::output_dense: norm(act(linear(x))).
struct OutputDense {
  Linear linear;
  NormWeights norm;
};

struct Model {
  const FamilyRecord* family = nullptr;
  HParams h;
  RopePlans rope;
  std::vector<LayerPlan> plans;    // one for each layer, and then the head's
  std::shared_ptr<Device> device;  // whose memory has the weights, in its form
  Weight token_embd;               // plain rows
  Weight source_embd;              // the same of an encoder; empty: the same rows
  Weight position_embd;            // plain rows; learned positions only
  Weight token_types;              // plain rows; BlockSpec::token_types only
  NormWeights embd_norm;           // BlockSpec::embd_norm only
  Linear embd_in;  // from the embeddings to the stream, where they are narrower; else empty
  // What layers' own inputs are made of, (n_layers · n_layer_input) of a row: a table of them, what
  // the stream gives, and the norm of that; empty: there are none.
  Weight layer_input_embd;  // plain rows
  Linear layer_input_proj;
  NormWeights layer_input_norm;
  // What makes streams of the first one, and what they are merged by, of each but the first.
  std::vector<Weight> streams_in, streams_out;
  std::vector<LayerWeights> layers;  // by plan
  NormWeights output_norm;
  NormWeights source_norm;          // of an encoder's last states; BlockSpec::reads_source only
  OutputDense output_dense;         // empty: there is none
  Weight output;                    // empty: an encoder has none
  Vector output_bias;               // empty: none
  std::unique_ptr<DraftHead> head;  // null: none; of a file that is a head, it
  std::string head_unused;          // why a head of the file is not used; empty: it has none
  bool from_packed_file = false;
  // Memory does not hold all weights beside what a step needs: this one says which parts of the
  // packed file it holds. Null: it holds all.
  std::shared_ptr<WeightPager> pager;
  std::vector<std::pair<std::string, double>> sampling;  // ModelInfo::sampling
  ModelDefaults defaults;                                // ModelInfo::defaults
  std::vector<std::string> remarks;                      // ModelInfo::remarks
  std::shared_ptr<const ModelFile> file;                 // plain rows point into it
  std::shared_ptr<const MappedFile> packed_file;         // packed weights point into it; null: none
  std::shared_ptr<const Tokenizer> tokenizer;            // null: the file has none
  std::shared_ptr<const ChatTemplate> chat_template;     // null: the file has none
  std::shared_ptr<const Classifier> classifier;          // null: it scores no texts
  std::shared_ptr<const EmbedPlan> embed;                // how vectors of texts are made
  // Why a tokenizer or template the file does have, or its way to make vectors, cannot be used.
  Status tokenizer_status, chat_template_status, embed_status;
  // Classifiers: how two texts are joined, or why they cannot be; and the prompt of a pair, where
  // there is one, in place of that.
  Result<PairForm> pair_form = PairForm();
  std::shared_ptr<const PairPrompt> pair_prompt;

  // Ids that may be generated: embeddings are often padded beyond the tokenizer's vocabulary.
  int64_t n_usable_tokens() const {
    return tokenizer != nullptr ? tokenizer->vocab_size() : h.n_vocab;
  }
  // What its layers keep, in f16.
  CacheLayout cache_layout() const { return ruv::cache_layout(plans); }
};

// load_model for a device of the caller's, in place of the one that the options choose.
Result<std::shared_ptr<const Model>> load_model_on(std::shared_ptr<Device> device,
                                                   const std::string& path,
                                                   const LoadOptions& options = {});

// The file that could not be read when a part of it was needed (MappedFile::is_damaged); null: all
// is well. Any thread.
const MappedFile* damaged_file(const Model& model);

}  // namespace ruv
