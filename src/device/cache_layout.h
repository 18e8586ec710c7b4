// CacheLayout: what the KV cache of a model keeps, layer by layer. Layers that read the same
// tokens, all of them or the newest `window`, form a group; a group's pages are stored together
// and given up together (device/kv_pages.h). Layers that keep a running state form one more group,
// whether they keep tokens too or not: a checkpoint is of all of them.
#pragma once

#include <algorithm>
#include <vector>

#include "device/kv_shape.h"

namespace ruv {

// Attention skips scores before this boundary if no row sees them, since the order in which softmax
// sums repeats every 64 numbers. A window's oldest tokens are therefore read from here on.
inline constexpr int64_t kSkipTokens = 64;
// Larger: fewer checkpoints of large states, and more tokens that are computed again.
inline constexpr int64_t kMostCheckpointPages = 128;

struct KvLayer {
  KvShape shape;
  int64_t window = 0;  // tokens that a query sees, its own included; 0: all
};

struct CacheLayout {
  std::vector<KvLayer> layers;

  // n_layers layers that keep all tokens in one shape.
  static CacheLayout uniform(int64_t n_layers, const KvShape& shape) {
    return {std::vector<KvLayer>(static_cast<size_t>(n_layers), KvLayer{shape})};
  }
  // The same layers with all keys and values of this type. Running states stay what they are, and
  // so do keys without values: an index that chooses keys for attention.
  CacheLayout with_type(KvType type) const {
    CacheLayout layout = *this;
    for (KvLayer& layer : layout.layers) {
      if (layer.shape.has_tokens() && layer.shape.value_dim > 0) layer.shape.type = type;
    }
    return layout;
  }
  // The type of the keys and values; f16 where no layer keeps any.
  KvType type() const {
    for (const KvLayer& layer : layers) {
      if (layer.shape.has_tokens()) return layer.shape.type;
    }
    return KvType::f16;
  }
  // For sequences of at most n_ctx tokens: a window that holds them all is none.
  CacheLayout for_context(int64_t n_ctx) const {
    CacheLayout layout = *this;
    for (KvLayer& layer : layout.layers) {
      if (layer.window >= n_ctx) layer.window = 0;
    }
    return layout;
  }
  // Bytes of the keys and values of a page, in all layers.
  int64_t page_bytes() const {
    int64_t n = 0;
    for (const KvLayer& layer : layers) n += layer.shape.page_bytes();
    return n;
  }
  // Bytes of one running state, of all layers.
  int64_t state_bytes() const {
    int64_t n = 0;
    for (const KvLayer& layer : layers) n += layer.shape.state_bytes;
    return n;
  }
  int64_t bytes_per_token() const { return page_bytes() / kPageTokens; }
  // Checkpoints of a text are at least this many pages apart (cache/sequence_state.h): together
  // they take no more memory than the keys and values between them, or are so far apart that a text
  // which is resumed between two computes kMostCheckpointPages again at most.
  int64_t checkpoint_pages() const {
    const int64_t bytes = page_bytes();
    if (state_bytes() >= kMostCheckpointPages * bytes) return kMostCheckpointPages;
    return std::max<int64_t>(1, (state_bytes() + bytes - 1) / bytes);
  }
  // Bytes that a sequence of n_tokens tokens needs.
  int64_t held_bytes(int64_t n_tokens) const {
    int64_t n = state_bytes();
    for (const KvLayer& layer : layers) {
      const bool is_full = layer.window == 0 || layer.window > n_tokens;
      n += layer.shape.page_bytes() * pages_for(is_full ? n_tokens : layer.window);
    }
    return n;
  }
  bool has_tiers() const {
    bool any = false;
    for (const KvLayer& layer : layers) any = any || is_tiered(layer.shape.type);
    return any;
  }
};

// How many frames groups get that do not keep every page (device/kv_frames.h).
struct FrameLimits {
  int64_t n_lists = 0;        // sequences that run at once
  int64_t n_rows = 0;         // of a step
  int64_t n_kept = 0;         // in addition, pages of cached prefixes
  int64_t n_drafts = 0;       // rows of a step that may turn out wrong
  int64_t n_checkpoints = 0;  // in addition, checkpoints of cached prefixes
};

// What the rows of a step read in a group that does not keep every page.
struct KvReach {
  // window: the newest `window` tokens. tail: from the start of the row's group of kGroupTokens.
  // state: the checkpoint at the end of the page before.
  enum class Kind : uint8_t { window, state, tail };
  Kind kind = Kind::tail;
  int64_t window = 0;
  int64_t checkpoint_pages = 1;  // of states: how far apart those are that a text keeps

  static KvReach of_window(int64_t window) { return {Kind::window, window}; }
  static KvReach of_state(int64_t checkpoint_pages) { return {Kind::state, 0, checkpoint_pages}; }
  bool is_state() const { return kind == Kind::state; }

  // The first page that a row at `position` reads.
  int64_t first_page(int64_t position) const {
    if (is_state()) return position >= kPageTokens ? position / kPageTokens - 1 : 0;
    if (kind == Kind::tail) return position / kGroupTokens * kGroupPages;
    const int64_t oldest = position >= window ? position - window + 1 : 0;
    return oldest / kSkipTokens * (kSkipTokens / kPageTokens);
  }
  // Pages that a row reads at most before its own: with the oldest token at the end of a block of
  // kSkipTokens, the row is at most window + 62 tokens after the block's start.
  int64_t pages_before() const {
    return kind == Kind::tail ? kGroupPages : pages_for(window + kSkipTokens - 2);
  }
  // Frames that steps need. A list pins the pages before its first row, and those that its n rows
  // begin: ceil(n / 16) <= (n + 15) / 16. Between steps it pins one that drafts began instead
  // (PageList::trim). So m lists with b pages before pin b m + (n + 15 m) / 16 < (b + 1) m + n / 16
  // in a step of n rows, and (b + 1) m before it, when a started one may pin one more for a moment:
  // the page that it copies. A list has the state before the step, one for each row that may be its
  // last, one for a page's end before that, and pins its newest checkpoint.
  int64_t enough_for(const FrameLimits& limits) const {
    if (is_state()) return 4 * limits.n_lists + limits.n_drafts;
    return (pages_before() + 1) * limits.n_lists + limits.n_rows / kPageTokens + 1;
  }
};

}  // namespace ruv
