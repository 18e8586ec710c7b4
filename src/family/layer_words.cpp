// One line for each feature, in the order in which a block computes.
#include "family/layer_words.h"

#include <fmt/format.h>

#include "family/word_list.h"

namespace ruv {
namespace {

// Features that are there, joined.
class Words {
 public:
  Words& add_if(bool has, std::string_view feature) {
    if (has) text_ += fmt::format("{}{}", text_.empty() ? "" : ", ", feature);
    return *this;
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

std::string_view act_words(const BlockSpec& block) {
  if (block.xielu) return "xIELU";
  switch (block.act) {
    case Act::gelu:
    case Act::gelu_tanh:
    case Act::quick_gelu:
      return "GELU";
    case Act::relu:
      return "ReLU";
    case Act::relu2:
      return "squared ReLU";
    default:
      return "SiLU";
  }
}

// "2nd", "6th"; periods are small.
std::string nth(int64_t n) { return fmt::format("{}{}", n, n == 2 ? "nd" : n == 3 ? "rd" : "th"); }

void add_norms(const BlockSpec& block, Words& words) {
  words.add_if(block.token_types, "token types")
      .add_if(block.embd_norm, "normalised embeddings")
      .add_if(block.norm == Norm::layer && !block.norm_weights, "layer norms without weights")
      .add_if(block.norm == Norm::rms && !block.norm_weights, "norms without weights")
      .add_if(block.norm == Norm::layer && block.norm_weights && !block.norm_biases,
              "layer norms without biases")
      .add_if(block.norm == Norm::layer && block.norm_weights && block.norm_biases, "layer norms")
      .add_if(block.norm_place == NormPlace::sandwich, "norms before and after")
      .add_if(block.norm_place == NormPlace::post, "norms after")
      .add_if(block.norm_place == NormPlace::sum, "norms of sums")
      .add_if(block.sub_norms, "norms before the last matrices")
      .add_if(block.parallel, "feed-forward beside attention");
}

void add_attention(const BlockSpec& block, Words& words) {
  const bool by_head = block.state_space == StateSpace::heads;
  words.add_if(block.bidirectional, "attention in both directions")
      .add_if(block.reads_source, "an encoder, to whose states a decoder attends")
      .add_if(block.unlike_sides, "sides of sizes of their own")
      .add_if(block.repeats_layers, "layers that share weights")
      .add_if(block.positions == Positions::learned, "learned positions")
      .add_if(block.distances == Distances::numbers, "scores with numbers for distances")
      .add_if(block.distances == Distances::products, "scores with products for distances")
      .add_if(block.mixers == Mixers::short_conv, "short convolutions in some layers")
      .add_if(block.positions == Positions::alibi, "ALiBi")
      .add_if(block.positions == Positions::none, "no positions")
      .add_if(block.mixers == Mixers::delta_net, "gated delta rule in some layers")
      .add_if(block.mixers == Mixers::latent, "latent attention")
      .add_if(block.indexer != Indexer::none, "keys chosen by an index")
      .add_if(block.mixers == Mixers::delta_or_latent,
              "latent attention in some layers, in the others the gated delta rule with decays of "
              "channels")
      .add_if(block.mixers == Mixers::time_mix, "time mix and channel mix")
      .add_if(block.mixers == Mixers::matrix_memory, "a matrix memory")
      .add_if(block.mixers == Mixers::gated_recurrence, "gated linear recurrence in some layers")
      .add_if(block.mixers == Mixers::state_space,
              by_head ? "selective scans by head" : "selective scans by column")
      .add_if(block.mixers == Mixers::state_or_attention && !block.shared_blocks,
              "selective scans in some layers")
      .add_if(block.shared_blocks, "selective scans, in some layers after blocks that layers share")
      .add_if(block.mixers == Mixers::state_and_attention, "selective scans beside attention")
      .add_if(block.sinks, "attention sinks")
      .add_if(block.growth != Growth::none, "queries that grow with position")
      .add_if(block.qkv_bias, "biases of q, k and v")
      .add_if(block.qk_norm != QkNorm::none, "normalised q and k")
      .add_if(block.norms_values, "normalised v")
      .add_if(block.gated_attention, "gated attention")
      .add_if(block.unlike_layers, "layers that share keys and values")
      .add_if(block.widths_by_layer, "heads and widths by layer")
      .add_if(block.windows == Windows::all, block.windows_are_chunks ? "chunks" : "windows")
      .add_if(block.windows == Windows::periodic,
              fmt::format("windows in all but every {} layer", nth(block.window_period)))
      .add_if(block.only_windows_rotate, "positions in windowed layers only")
      .add_if(block.unrotated_period > 0,
              fmt::format("no positions in every {} layer", nth(block.unrotated_period)));
}

}  // namespace

std::string layer_words(const FamilyRecord& family) {
  const BlockSpec& block = family.block;
  // Where layers differ in windows, such a layer is not used (model/draft_head.h).
  const bool drafts =
      block.windows == Windows::none &&
      (family.predicts_ahead || is_word_of(family.gguf_keys, "nextn_predict_layers"));
  Words words;
  words.add_if(family.embed_scale != EmbedScale::none, "scaled embeddings");
  words.add_if(block.streams,
               "several residual streams, low-rank products beside attention, cut gates");
  add_norms(block, words);
  add_attention(block, words);
  words.add_if(family.attn_softcap.computed, "capped scores")
      .add_if(!block.gated, fmt::format("{} without a gate", act_words(block)))
      .add_if(block.gate_optional, "ReLU without a gate or gated GELU")
      .add_if(block.gated && !block.gate_optional && block.act != Act::silu,
              fmt::format("gated by {}", act_words(block)))
      .add_if(block.all_bias, "biases")
      .add_if(family.experts.computed, "experts")
      .add_if(block.output_dense, "a dense layer before the output matrix")
      .add_if(family.final_softcap.computed, "capped logits")
      .add_if(drafts, "layers that draft tokens");
  return std::move(words).text();
}

}  // namespace ruv
