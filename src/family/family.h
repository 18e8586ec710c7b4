// FamilyRecord: everything that is special about a family of models, as data. The readers of model
// files (format) and the decoder (model) branch on its fields and never on a name; the names occur
// in this module only. A family is one file that defines a record, and one line in families.cpp.
//
// A field's default is what Llama does, so a record lists the differences.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "family/hf_class.h"
#include "tensor/nonlinear.h"
#include "tensor/routing.h"

namespace ruv {

// Where a block normalises: before attention and feed-forward, before and after each, after each;
// or the stream itself, once each has been added to it.
enum class NormPlace : uint8_t { pre, sandwich, post, sum };
// Whether queries and keys are normalised: each head, all with one weight or each with its own; or
// all heads as one row.
enum class QkNorm : uint8_t { none, heads, own_heads, rows };
// How tokens know their position: heads are rotated; a table is added to the embeddings; scores
// fall with the distance (ALiBi); by the causal mask only.
enum class Positions : uint8_t { rope, learned, alibi, none };
// What scores have added for the distance of query and key (model/relative_plan.h): a number of the
// head for the distance's bucket; or products of the query with a key of the distance, and of the
// key with a query of it.
enum class Distances : uint8_t { none, numbers, products };
// Which layers see only the newest keys, where the file does not say it per layer. The window's
// width is the file's; without one no layer has a window.
enum class Windows : uint8_t { none, all, periodic };
// What mixes the tokens of a layer: attention in all of them; or something else in those for which
// the file counts no key heads, a gated short convolution or linear attention by the gated delta
// rule, the time mix of RWKV, a gated linear recurrence or a state space; or latent attention in
// all of them (model/latent_plan.h); or state spaces in all, which have nothing else; or in all a
// state space beside attention; or latent attention in some and in the others the gated delta rule
// with a decay of each channel of a key (DeltaHeads::by_channel); or a matrix memory in all
// (model/matrix_memory.h).
enum class Mixers : uint8_t {
  attention,
  short_conv,
  delta_net,
  latent,
  time_mix,
  gated_recurrence,
  state_space,
  state_or_attention,
  state_and_attention,
  delta_or_latent,
  matrix_memory
};
// Whether latent attention reads few of its keys, chosen by an index (model/index_plan.h), and in
// which order files have the rows that rotate: as halves, or as pairs of neighbours.
enum class Indexer : uint8_t { none, halves, neighbours };
// What the scan of a state space (model/state_space.h) has rates and steps for: columns (Mamba) or
// heads (Mamba 2).
enum class StateSpace : uint8_t { none, columns, heads };
// The generations of RWKV (model/time_mix.h).
enum class TimeMix : uint8_t { none, averages, matrices, dynamic, corrected };
enum class EmbedScale : uint8_t { none, sqrt_dim, sqrt_dim_bf16 };  // rounded to bf16
// Which layers' queries grow with their position (PositionScale, device/ops.h), where the file
// gives a slope: all; or those without positions, counted from 1.
enum class Growth : uint8_t { none, all, unrotated };

// The choices of one block, the same in all layers.
struct BlockSpec {
  Norm norm = Norm::rms;
  bool norm_weights = true;  // norms have weights
  bool norm_biases = true;   // layer norms have biases
  // Embeddings are normalised, positions added, before the first block.
  bool embd_norm = false;
  NormPlace norm_place = NormPlace::pre;
  bool first_norm = true;  // attention of the first layer reads a normalised stream
  bool has_layers = true;  // else the model is its table of embeddings
  // Layers that follow each other have the weights of one, as many as the file's groups say.
  bool repeats_layers = false;
  // The rows of a text see each other: an encoder. It has no output matrix.
  bool bidirectional = false;
  bool output_dense = false;  // last states pass a dense layer before the output matrix
  bool token_types = false;   // embeddings have rows of a table of token types added
  bool only_source = false;   // an encoder of models that answer a source text, without the decoder
  // The model answers a source text: an encoder computes that, and the layers of a decoder also
  // attend to its last states (model/layer_plan.h: Side).
  bool reads_source = false;
  // Its encoder has numbers of its own, by keys that begin with "encoder.", and a table of
  // embeddings of its own.
  bool unlike_sides = false;
  // Attention and feed-forward read the same stream, where the file does not say it; and where they
  // do, one norm is before both.
  bool parallel = false;
  bool shared_norm = false;
  bool sub_norms = false;  // norms before the last matrices of attention and of the feed-forward
  // NormPlace::sum, where the file has a second norm of it: what attention read is added to its
  // normalised sum once more, and that is normalised too.
  bool may_sum_twice = false;
  Mixers mixers = Mixers::attention;
  Indexer indexer = Indexer::none;
  bool linear_pre_norm =
      false;                  // layers of linear attention normalise before, whatever the others do
  float linear_norm_eps = 0;  // of its heads; 0: as all norms
  StateSpace state_space = StateSpace::none;  // the kind that mixers have
  // Each layer has one half of a block: attention, a scan, or the feed-forward where the file has a
  // width for it.
  bool one_half = false;
  bool scan_norms = false;           // what steps, b and c are made of is normalised, with weights
  TimeMix time_mix = TimeMix::none;  // the kind that mixers have; feed-forwards are channel mixes
  Positions positions = Positions::rope;
  bool positions_optional = false;  // learned ones are there where the file has a table of them
  Distances distances = Distances::none;
  int64_t position_offset = 0;  // learned: rows of the table before the first position's
  // ALiBi: biases are rounded to bf16 and scaled as scores are.
  bool alibi_in_bf16 = false;
  // Biases that must be there whatever the file says; others are used where it has them.
  bool qkv_bias = false;     // q, k and v
  bool all_bias = false;     // the other projections
  bool mlp_bias = false;     // those of the feed-forward alone
  bool down_bias = false;    // of these the last one alone
  bool output_bias = false;  // the projection after attention alone
  bool head_bias = false;    // the output matrix
  bool gate_bias = false;    // the gates of a matrix memory
  bool expert_bias = false;  // the router and the experts
  // Each number that attention gives is multiplied by the sigmoid of one more that the queries'
  // matrix gives.
  bool gated_attention = false;
  QkNorm qk_norm = QkNorm::none;
  bool qk_norm_optional = false;  // where the config says so, or the file has the weights
  bool qk_norm_weights = true;    // its norms have weights
  bool qk_norm_biases = true;     // and, if they are layer norms with biases, biases
  bool rotates_first = false;     // positions come before that norm
  bool gated = true;              // feed-forward: down(act(gate) · up), else down(act(up))
  bool gate_optional = false;     // as the config says, or where the file has the gates
  Act act = Act::silu;
  bool xielu = false;  // in its place, where the file says no other
  Windows windows = Windows::none;
  int64_t window_period = 0;        // periodic: the last layer of each period sees all keys
  bool full_first = false;          // the first layer of each period does, in place of the last
  bool windows_are_chunks = false;  // of the window only the keys of the own chunk are seen
  bool sinks = false;               // each head has a score that no key has
  // Windowed layers have heads of another size than the others, and another number of key heads.
  // Those without a window may have keys for values. The last layers may read the keys and values
  // of an earlier one, with wider feed-forwards, and all may read an input of their own.
  bool unlike_layers = false;
  bool widths_by_layer = false;  // layers may differ in heads and the feed-forward's width
  bool norms_values = false;     // values of heads are normalised, without weights
  bool scales_layers = false;    // after each layer the stream is multiplied by a number of its own
  bool streams = false;          // several residual streams (model/stream_plan.h)
  // Before the scans of some layers are blocks that share weights (model/shared_plan.h).
  bool shared_blocks = false;
  // Which layers have positions, where the file does not say it per layer: those that see all keys
  // have none if there is a window; the last of each period has none.
  bool only_windows_rotate = false;
  int64_t unrotated_period = 0;
  bool only_rotated_norms = false;  // layers without positions normalise neither queries nor keys
  Growth growth = Growth::none;
};

// The layers with experts, where a family has any (device/ops.h: RouteParams has the formulas).
struct ExpertSpec {
  bool computed = false;  // layers may have gated experts, by the file's numbers
  RouterScore score = RouterScore::softmax;
  GroupRank group_rank = GroupRank::best;
  bool ranks_by_best = false;  // GroupRank::best where scores are a softmax
  bool normalises = true;      // weights, where the file does not say it
  float sum_added = 0;
  float sum_least = 0;
  float closeness = 0;  // of sparsemixer, where the file does not say it
  bool weighs_inputs = false;
  bool always_shared = false;  // GGUF files without a width have a shared expert as wide as others
  bool shared_router = false;  // the shared experts have a weight of their own
  // Experts and a dense feed-forward are added, each after a norm of its own; the experts and their
  // router read the stream through norms of their own, and each expert has a scale.
  bool beside_dense = false;
  // Limit and shift of the experts' gates (device/ops.h: GateLimits); limit: where the file does
  // not say it.
  float gate_limit = 0;
  float up_shift = 0;
};

// cap · tanh(x / cap), applied to scores or logits.
struct SoftCap {
  bool computed = false;  // the family's model class reads the key from config.json
  float otherwise = 0;    // the cap where the file is silent; 0: none
};

// How queries grow with their position: by 1 + slope · ln(1 + floor((position + offset) / span)).
struct UsualGrowth {
  float slope = 0;  // 0: they do not
  int64_t span = 1;
};

// Whether a tensor of a checkpoint has what all experts have of a role: matrices (experts, n_out,
// n_in) and biases (experts, n_out); or, flat, matrices (experts · n_out, n_in).
enum class ExpertStack : uint8_t { none, stacked, flat };

// Whether a tensor of a checkpoint is half of an MXFP4 one: its codes, (…, blocks, 16) bytes, or
// the scales of its blocks. Both have one name.
enum class MxPart : uint8_t { none, codes, scales };

// How the rows of a checkpoint's fused matrix of queries, keys and values lie: those of all
// queries, then keys, then values; for each key head its queries, its key and its value; in four
// parts, each with the queries, values and keys of a quarter of the heads.
enum class QkvRows : uint8_t { one_after_another, by_key_head, four_parts };

// A tensor of a checkpoint under a name that only this family uses. Names lack their ending
// (".weight", ".bias"); "{}" is the number of the layer.
enum class NameFor : uint8_t { any, without_experts, with_experts };
struct TensorName {
  std::string_view gguf = {};
  std::string_view hf = {};
  bool conv1d = false;     // a matrix, or each of a stack, is stored transposed, (n_in, n_out)
  bool depthwise = false;  // filters are stored as (n, 1, length), in GGUF files as (n, length)
  bool whole = false;      // both names have their endings
  ExpertStack stack = ExpertStack::none;
  // Set: rows are those of two roles, and this is the name of the other one: all of the first, then
  // all of the other, or by turns.
  std::string_view other = {};
  bool by_turns = false;
  MxPart mx = MxPart::none;
  NameFor models = NameFor::any;  // the name is only those models'
};

// A tensor of which both names are complete.
constexpr TensorName whole(std::string_view gguf, std::string_view hf) {
  return {.gguf = gguf, .hf = hf, .whole = true};
}

// What files of rwkv.cpp say by their tensors.
struct GgmfShapes {
  std::string_view sign = {};   // only files of this family have it; empty: there are none
  std::string_view heads = {};  // has a row for each head; empty: there are no heads
};

// Models that rank documents by the token they would write: what a folder's README.md begins with,
// whose other files do not tell it from a model that chats; what they read, with "{query}" and
// "{document}" in the places of the texts; and the tokens for a document that answers the query and
// for one that does not.
struct RankPrompt {
  std::string_view heading = {};
  std::string_view text = {};
  std::string_view yes = {}, no = {};
};

// What the tokenizer of a GGUF file means where its keys do not say it.
struct VocabDefaults {
  std::string_view splits = {};  // the pre-tokenizer of files that name none; empty: not known
  bool nfc = false;              // byte-level BPE normalises whatever its pre-tokenizer is
  // Set: special tokens take the white space after them, except the tokens listed here between
  // spaces.
  std::string_view untrimmed_tokens = {};
};

struct FamilyRecord {
  std::string_view name = {};  // general.architecture of GGUF files
  // A file of it is one layer, which drafts for a model from what that computes
  // (model/draft_head.h). It is not one of families().
  bool is_draft_head = false;
  // Published models that run from this record, a few words for docs/families.md.
  std::string_view published = {};
  BlockSpec block = {};
  ExpertSpec experts = {};
  EmbedScale embed_scale = EmbedScale::none;
  SoftCap attn_softcap = {}, final_softcap = {};
  float local_rope_base = 0;  // base of windowed layers where it differs; 0: the same
  // Positions of windowed layers are not scaled, and have the file's base unless it says another.
  bool plain_local_rope = false;
  // Layers of the one size that scales queries by its hidden size per head, which GGUF files do not
  // say; 0: there is none.
  int64_t width_scaled_depth = 0;

  // Models of as many layers have ALiBi in the place of rotated heads, which GGUF files do not say;
  // 0: there are none.
  int64_t alibi_depth = 0;

  bool divides_logits = false;  // by the file's logit_scale
  // GGUF files without an output matrix or that key mean: by the root of the stream's width.
  bool divides_tied_logits = false;
  // Heads rotate as pairs (2i, 2i + 1) in files of both kinds.
  bool neighbour_pairs = false;
  bool turns_backwards = false;  // heads are rotated by the negative of the usual angles

  // What files mean that name no scales: of the embedding; of what a block adds, over the root of
  // the number of layers; and logits times this over the hidden size. 0: 1.
  float usual_embed_scale = 0, usual_depth_scale = 0, usual_logit_width = 0;
  float last_norm_eps = 0;   // of the norm before the output matrix; 0: as all norms
  double head_norm_eps = 0;  // of heads that a time mix normalises, where the file does not say it

  // GGUF files only.
  // Keys that are honoured for this family and must be neutral for others, between spaces.
  std::string_view gguf_keys = {};
  bool neighbour_rows = false;     // rows of q and k are ordered to rotate (2i, 2i + 1)
  bool tiled_value_heads = false;  // linear attention: value head h has key head h mod their count
  std::string_view last_norm = "output_norm";  // the norm after the last layer; empty: none
  std::string_view ffn_norm = "ffn_norm";      // the norm before the feed-forward
  // Where a file has this tensor, it comes before attention and the usual one before the
  // feed-forward, in both kinds of files.
  std::string_view second_norm = {};
  VocabDefaults vocab = {};
  // What files without keys for it mean: the window, and, where there is one, the queries' growth.
  int64_t usual_window = 0;
  UsualGrowth usual_growth = {};
  float usual_attn_scale = 0;        // of scores; 0: by the size of a head
  int64_t unnormalised_experts = 0;  // files with this many experts normalise neither q nor k

  // Checkpoints only.
  bool norms_minus_one = false;  // norm weights are stored less 1
  // They may have layers that predict tokens further ahead. GGUF files of the family have them if
  // gguf_keys has nextn_predict_layers.
  bool predicts_ahead = false;
  bool fused_qkv = false;  // one matrix holds q, k and v
  QkvRows qkv_rows = QkvRows::one_after_another;
  bool fused_gate_up = false;                  // one matrix holds gate and up
  bool usual_names = true;                     // tensors have the usual names of transformers
  std::span<const TensorName> own_names = {};  // tried before the usual ones
  // Tensors, between spaces, that change what the model computes in a way we do not have.
  std::string_view refused_tensors = {};
  // Tensors, between spaces, that repeat the embedding where files have them.
  std::string_view embedding_copies = {};
  std::string_view base_prefix = "model.";  // that names of a class without a head lack
  // Names have none of these, which classes with a head put before them, between spaces.
  std::string_view head_prefixes = {};
  std::span<const HfClass> classes = {};  // model classes of transformers
  RankPrompt ranks = {};

  GgmfShapes ggmf = {};
};

std::span<const FamilyRecord* const> families();
// The family of a GGUF architecture, or what its drafting heads are; null: not one of ours.
const FamilyRecord* find_family(std::string_view name);
// The names of all families, each after a space, for errors.
std::string known_families();
// The families whose name, or that of one of their model classes, is most like an unknown
// architecture's, nearest first: at most three, possibly none.
std::vector<std::string_view> nearest_families(std::string_view architecture);

// A model class with the family it belongs to; both null: not one of ours.
struct FoundClass {
  const FamilyRecord* family = nullptr;
  const HfClass* hf = nullptr;
};
// By "model_type" of config.json.
FoundClass find_hf_type(std::string_view model_type);
// Whether several families have classes of this type, encoders of models that answer a source text
// not counted: a config that names no class is that of the whole model.
bool has_generations(std::string_view model_type);
// By a name in "architectures" of config.json; also of drafting heads.
FoundClass find_hf_class(std::string_view class_name);

// Also for architectures of which only the tokenizer is read.
VocabDefaults vocab_defaults_of(std::string_view architecture);

// Whether layer i sees only the window.
constexpr bool is_windowed(const BlockSpec& block, int64_t i) {
  if (block.windows != Windows::periodic) return block.windows == Windows::all;
  return i % block.window_period != (block.full_first ? 0 : block.window_period - 1);
}

}  // namespace ruv
