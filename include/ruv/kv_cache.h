// The memory of contexts: how keys and values are stored, how long they are kept, and the counters
// of both.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ruv/kv_type.h"

namespace ruv {

struct KvCacheConfig {
  // Unset: the type that suits the model, default_kv_type(). Smaller types hold more context in the
  // same memory and lose some precision (docs/kv-precision.md).
  std::optional<KvType> type = std::nullopt;
  // The file that `ruvllm kv-gate` wrote for the model. int4 and int2 are refused without a verdict
  // there that they passed.
  std::string gate_file = {};
  // Tokens of context in memory, for running requests and cached prefixes together. More tokens
  // cost kv_bytes_per_token each and let more prompts start from the cache. 0: n_ctx ·
  // max_sequences, limited to a quarter of the machine's memory.
  int64_t max_tokens = 0;
  // Limit for one tenant: its running requests hold no more (one may always run), and cached
  // prefixes beyond it are evicted first; 0: no quota.
  int64_t max_tenant_tokens = 0;
  // How many tokens of cached prefixes keep what not all tokens keep. Layers with a sliding window:
  // a prefix can be resumed only where the tokens of the window before are kept; otherwise it is
  // computed again. int4 and int2: an f16 copy; a request that resumes inside a 256-token group can
  // then reuse the start of that group; without a copy it computes up to 255 tokens again. Running
  // requests have their own in addition to these. 0: an eighth of max_tokens.
  int64_t tail_tokens = 0;
  // Whether to keep the pages of prompts and answers for later requests with the same beginning.
  bool keep_prefixes = true;
  // Shares of all pages held by running sequences. Once `high` is reached no request starts until
  // the share falls to `low`. Raising `high` runs more requests at once and preempts more often.
  double low_watermark = 0.70;
  double high_watermark = 0.85;

  // Folder in which whole pages outlive the process, created when absent; empty: none. Only one
  // engine at a time can use a folder. Files may be deleted while no engine uses it.
  std::string disk_folder = {};
  int64_t disk_max_bytes = int64_t{8} << 30;
  // Encrypts the pages on disk (XChaCha20-Poly1305). Files written with another key are ignored.
  std::optional<std::array<uint8_t, 32>> disk_key = {};
  // Called for each ignored file with the reason, on the engine's threads.
  std::function<void(std::string_view)> note = {};
};

// Why the cache did not have all of a prompt's tokens.
enum class CacheMiss : uint8_t {
  none,      // all but the last one, which is always computed
  unknown,   // no cached text continues like this
  diverged,  // the cached text continues differently
  evicted,   // more was cached, but has left memory
  off,       // reuse is disabled by the request or the engine
  too_few,   // fewer than min_cache_tokens
};
// "none", "unknown", …
std::string_view cache_miss_name(CacheMiss miss);

struct KvCacheStats {
  KvType type = KvType::int8;  // in use
  int64_t page_tokens = 0;
  int64_t page_bytes = 0;
  int64_t memory_bytes = 0;  // of all pages, windows and tails included
  int64_t total_pages = 0;
  int64_t free_pages = 0;
  int64_t cached_pages = 0;     // of cached prefixes, in memory
  int64_t evictable_pages = 0;  // of these, not used by a running sequence
  int64_t cached_tokens = 0;    // in memory or on disk
  int64_t index_bytes = 0;      // memory of the prefix tree itself
  // int4 and int2 only: pages with an f16 copy (tails).
  int64_t tail_pages = 0;
  int64_t used_tail_pages = 0;
  int64_t demoted_pages = 0;  // total tails evicted
  // Layers with a sliding window only: pages kept there, of all such windows.
  int64_t window_pages = 0;
  int64_t used_window_pages = 0;
  int64_t passed_pages = 0;  // total evicted there

  int64_t lookups = 0;
  int64_t hits = 0;           // lookups that reused something
  int64_t prompt_tokens = 0;  // looked up
  int64_t reused_tokens = 0;  // of these, found
  int64_t evicted_pages = 0;
  int64_t preemptions = 0;

  bool on_disk = false;
  int64_t disk_bytes = 0;
  int64_t disk_max_bytes = 0;
  int64_t disk_pages = 0;
  int64_t written_pages = 0;
  int64_t restored_pages = 0;
  int64_t failed_restores = 0;  // damaged or gone
};

}  // namespace ruv
