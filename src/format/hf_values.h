// HfValues: what the readers of config.json write to.
#pragma once

#include "family/family.h"
#include "format/config_members.h"
#include "format/hf_config.h"

namespace ruv {

class HfValues {
 public:
  // Requires: both parts of `found`.
  HfValues(const FoundClass& found, HfConfig& out);

  const FamilyRecord& family() const { return family_; }
  const HfClass& hf() const { return hf_; }
  // Null: the class scores no texts.
  const HfClassifier* classifier() const { return out_.classifier; }
  // HfClass::default_rope; an empty object: the class has none.
  const Json& default_rope() const { return default_rope_; }
  // `key` without the architecture; `name`: what it is called in the config.
  void set(std::string_view key, MetaValue value, std::string name);
  // The value that was set; null: none was.
  const MetaValue* find(std::string_view key) const;
  // From here on, keys of an encoder beside the decoder (BlockSpec::unlike_sides), or its own.
  void choose_side(bool encoder) { is_encoder_ = encoder; }
  bool is_encoder() const { return is_encoder_; }
  void set_parallel(const HfParallelHeads& heads) { out_.parallel = heads; }
  void refuse(const Status& status) { out_.faults.add(status); }
  // Beyond a number that no config reaches, only that there are more.
  void remark(std::string text);

 private:
  const FamilyRecord& family_;
  const HfClass& hf_;
  HfConfig& out_;
  Json default_rope_ = Json::object();
  bool is_encoder_ = false;

  std::string side_key(std::string_view key) const;
};

struct HfHead {
  int64_t dim = 0;
  int64_t max_positions = 0;
  int64_t plain_dim = 0;  // of latent attention: what a head has beside the rotated part
  int64_t local_dim = 0;  // of windowed layers, where it differs by kind; else 0
};
// The object that settings of rotary positions are in: rope_scaling, unless it is empty, else
// rope_parameters, else the class's own. Valid as long as both arguments. Fails: corrupt.
Result<Members> rope_object(const Members& config, const HfValues& out);
// RoPE settings: in the config itself and rope_scaling, or in rope_parameters, there once or for
// each kind of layer. Fails: corrupt, unsupported.
Status read_hf_rope(const Members& config, const HfHead& head, HfValues& out);

// Which of n_layers layers are convolutions, by a count of 0 key heads, and what they are. Fails:
// corrupt, unsupported.
Status read_hf_short_conv(const Members& config, int64_t n_layers, int64_t n_kv_heads,
                          HfValues& out);
struct HfLayers {
  int64_t n = 0;
  int64_t n_heads = 0;  // of those with attention
  int64_t n_kv_heads = 0;
};
// Which of n_layers layers are linear attention by the gated delta rule, and what they are. Fails:
// corrupt, unsupported.
Status read_hf_delta_net(const Members& config, const HfLayers& layers, int64_t width,
                         HfValues& out);
// Which layers layer_types calls full attention; the others are linear. Requires: it is set. Fails:
// corrupt, unsupported (other kinds).
Result<std::vector<bool>> read_hf_attending_layers(const Members& config, int64_t n_layers);
// The same of classes whose other layers are latent attention, by a count of 0 key heads. Fails:
// corrupt, unsupported.
Status read_hf_delta_or_latent(const Members& config, const HfLayers& layers, HfValues& out);
// Which layers are gated linear recurrences, what they are, and the window of the others. `width`:
// of the stream. Fails: corrupt, unsupported.
Status read_hf_gated_recurrence(const Members& config, const HfLayers& layers, int64_t width,
                                HfValues& out);
// What the selective scans of a class are, and which of n_layers layers have one in the place of
// attention, by a count of 0 key heads. `width`: of the stream. Fails: corrupt, unsupported.
Status read_hf_state_space(const Members& config, const HfLayers& layers, int64_t width,
                           HfValues& out);
// What layers have that are unlike each other (HfClass::global_head_dim), and which have a window.
// Gives the size of a head of layers without one. Fails: corrupt, unsupported.
struct HfUsualLayer {
  int64_t n_layers = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;
};
Result<int64_t> read_hf_unlike_layers(const Members& config, const HfUsualLayer& usual,
                                      HfValues& out);
// Feed-forward widths that a list has, one for each layer. Fails: corrupt.
Status read_hf_ff_list(const Members& config, int64_t n_layers, std::string_view key,
                       HfValues& out);
// The heads and feed-forward widths of each layer; gives the size of a head. Fails: corrupt.
Result<int64_t> read_hf_layer_widths(const Members& config, int64_t n_layers, int64_t width,
                                     HfValues& out);
// The sizes of a matrix memory and of the feed-forward. `width`: of the stream. Fails: corrupt.
Status read_hf_matrix_memory(const Members& config, int64_t width, HfValues& out);
// Residual streams beside each other, and what comes with them. Fails: corrupt.
Status read_hf_streams(const Members& config, int64_t n_layers, HfValues& out);
// Blocks that share weights, before the scans of some layers, by a count of key heads; the size of
// their heads. `width`: of the stream. Fails: corrupt, unsupported.
Result<int64_t> read_hf_shared_blocks(const Members& config, const HfLayers& layers, int64_t width,
                                      HfValues& out);
// Layers that are one half of a block each.
enum class HfHalf : uint8_t { scan, attention, feed_forward, experts };
Result<std::vector<HfHalf>> read_hf_halves(const Members& config);
// All numbers of a class whose layers are a time mix and a channel mix. Fails: corrupt.
Status read_hf_time_mix(const Members& config, HfValues& out);
// The feed-forward's width of a class with block_keys. Fails: corrupt.
Result<int64_t> read_block_width(const Members& config);

// The widths of latent attention, of as many key heads as query heads; the width of the rotated
// part. Fails: corrupt, unsupported.
struct HfHeads {
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t n_embd = 0;
};
Result<int64_t> read_hf_latent(const Members& config, const HfHeads& heads, HfValues& out);
// The index that chooses its keys, and which of n_layers layers share what one before has chosen.
// Nothing for classes without. Fails: corrupt, unsupported.
Status read_hf_indexer(const Members& config, int64_t n_layers, HfValues& out);
// How queries grow with their position. Nothing for classes whose queries do not. Fails: corrupt,
// unsupported.
Status read_hf_growth(const Members& config, HfValues& out);

// The window and which layers have it: groups of kinds of layers, each with how often it follows
// itself. Fails: corrupt.
Status read_hf_local_windows(const Members& config, int64_t n_layers, HfValues& out);
// The size of chunks and which layers see only theirs: those that layer_types names, or those whose
// heads rotate. Fails: corrupt, unsupported.
Status read_hf_chunks(const Members& config, const std::vector<bool>& rotated, HfValues& out);

// Numbers of experts, which of n_layers layers have them, and how they are chosen and weighted.
// Nothing for classes without. Fails: corrupt, unsupported.
Status read_hf_experts(const Members& config, int64_t n_layers, HfValues& out);

// What only encoders have. `width`: of the stream. Fails: corrupt, unsupported.
Status read_hf_encoder(const Members& config, int64_t width, HfValues& out);

// What the outer object of such a class says of both sides, after they were read: `decoder` is that
// object. Fails: corrupt, unsupported.
Status read_hf_sides(const Members& config, const Members& decoder, HfConfig& config_out,
                     HfValues& out);

// The activation of classes whose feed-forwards may have gates, and whether they do. Fails:
// corrupt, unsupported.
Status read_hf_gated_act(const Members& config, HfValues& out);
// The dense layer before the output matrix. Nothing for classes without. Fails: corrupt.
Status read_hf_output_dense(const Members& config, HfValues& out);
// The activation of gates that a class with HfClass::glu_key always has. Fails: corrupt,
// unsupported.
Status read_hf_glu(const Members& config, HfValues& out);
// What only classes have that answer a source text. `width`: of the stream. Fails: corrupt.
Status read_hf_source(const Members& config, const HfLayers& layers, int64_t width, HfValues& out);

// What scores have added for distances, by keys of such classes. Fails: corrupt, unsupported.
struct HfDistanceSizes {
  int64_t head_dim = 0;
  int64_t n_positions = 0;
};
Status read_hf_distances(const Members& config, const HfDistanceSizes& sizes, HfValues& out);

// Which layers have a window and which positions (HfWindows::prefixed). Fails: corrupt,
// unsupported.
Status read_hf_prefixed(const Members& config, int64_t n_layers, HfValues& out);
// Which layers have experts. Fails: corrupt.
Result<std::vector<bool>> read_hf_expert_layers(const Members& config, int64_t n_layers,
                                                const HfExperts& experts);
// The bases of layers that a list names (HfClass::layer_bases_key): one of those with a window, one
// of the others. Fails: corrupt, unsupported (more than these).
Status read_hf_layer_bases(const Members& config, const std::vector<bool>& windowed, HfValues& out);

// The config of such a file with the numbers of its layer, which may be in an object of their own,
// beside the others. Fails: corrupt.
Result<Json> whole_head_config(const Members& config);
// What a drafting head of a file of its own has beside the numbers of its layer. Fails: corrupt.
Status read_hf_draft_head(const Members& config, HfValues& out);
// Whether a config without a class is that of several heads that read the same state.
bool has_parallel_heads(const Members& config);
// All numbers of such a file. Fails: corrupt, unsupported.
Status read_hf_parallel_heads(const Members& config, HfValues& out);

// Whether a class of this name scores texts by a decoder of this type.
bool scores_by(const FoundClass& decoder, std::string_view named);
// What a class scores texts by, decoders of all families by one matrix, of the last token's state;
// null: it scores none.
const HfClassifier* classifier_of(const FoundClass& found, std::string_view named);
// What a classifier has besides its tensors. Fails: corrupt, unsupported.
Status read_hf_classifier(const Members& config, HfValues& out);

// Refuses keys whose value asks for what we do not have, and remarks on those the class ignores.
Status check_hf_keys(const Members& config, HfValues& out);
// The same in the class's attention_object.
Status check_hf_attention_keys(const Members& attention, HfValues& out);
Status check_hf_outer_keys(const Members& config, HfValues& out);

}  // namespace ruv
