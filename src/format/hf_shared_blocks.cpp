// Keys of classes some of whose layers share blocks of attention and feed-forward (Zamba 2). The
// configuration class makes several of them of others; a config that says otherwise is refused.
#include <cmath>

#include "format/hf_values.h"

namespace ruv {
namespace {

// A key that must say this number, if it is there.
Status expect(const Members& config, std::string_view key, int64_t number) {
  if (!config.has(key) || TRY(config.integer(key)) == number) return {};
  return config.wrong(key, fmt::format("is not the {} that follows from other keys", number),
                      Code::unsupported);
}

}  // namespace

Result<int64_t> read_hf_shared_blocks(const Members& config, const HfLayers& layers, int64_t width,
                                      HfValues& out) {
  constexpr std::string_view kCount = "num_mem_blocks", kRank = "adapter_rank";
  constexpr std::string_view kAttention = "use_shared_attention_adapter";
  constexpr std::string_view kRotates = "use_mem_rope", kHeads = "num_attention_heads";
  const int64_t head_dim = 2 * width / layers.n_heads;
  if (head_dim == 0) return config.wrong(kHeads, "is above twice the hidden size");
  for (const std::string_view key : {"attention_head_dim", "head_dim"}) {
    TRY(expect(config, key, head_dim));
  }
  TRY(expect(config, "attention_hidden_size", 2 * width));
  // Where the output matrix is one of its own, so are all blocks.
  const int64_t n = TRY(config.positive_or(kCount, 1));
  const bool is_tied = TRY(config.truth("tie_word_embeddings")).value_or(out.hf().tied);
  out.set("shared_block.count", is_tied ? n : layers.n, config.path_of(kCount));
  const int64_t rank = TRY(config.positive_or(kRank, 128));
  out.set("shared_block.feed_forward_rank", rank, config.path_of(kRank));
  if (TRY(config.truth(kAttention)).value_or(false)) {
    if (layers.n_heads != layers.n_kv_heads || layers.n_heads * head_dim != 2 * width) {
      return config.wrong(kAttention, "is true, but heads do not make twice the hidden size",
                          Code::unsupported);
    }
    out.set("shared_block.attention_rank", rank, config.path_of(kAttention));
  }
  out.set("attention.scale", 1 / std::sqrt(static_cast<double>(head_dim) / 2), std::string());
  const bool rotates = TRY(config.truth(kRotates)).value_or(false);
  out.set("rope.scaling.finetuned", rotates, config.path_of(kRotates));
  return head_dim;
}

}  // namespace ruv
