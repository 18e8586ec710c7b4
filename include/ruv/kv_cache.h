// The memory of contexts: how keys and values are kept, for how long, and what that came to.
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
  // Nothing: what suits the model, default_kv_type().
  std::optional<KvType> type = std::nullopt;
  // What `ruvllm kv-gate` wrote of the model: int4 and int2 need a verdict that they passed.
  std::string gate_file = {};
  // Tokens of context that memory holds, running ones and kept prefixes together; 0:
  // n_ctx · max_sequences, limited to a quarter of the machine's memory.
  int64_t max_tokens = 0;
  // Of one tenant: its running requests hold no more (one may always run), and what it left behind
  // goes first when it is more; 0: no quota.
  int64_t max_tenant_tokens = 0;
  // Of int4 and int2: tokens of kept prefixes whose f16 form is kept too, so that who goes on them
  // inside a group of 256 tokens need not compute the begin of that group again; 0: an eighth of
  // max_tokens. Running requests have theirs beside it.
  int64_t tail_tokens = 0;
  // Keep the pages of prompts and answers for later ones that begin alike.
  bool keep_prefixes = true;
  // Shares of all pages held by running sequences: from `high` on none starts until it is `low`.
  double low_watermark = 0.70;
  double high_watermark = 0.85;

  // Folder in which whole pages outlive the process, made when absent; empty: none. One engine at a
  // time uses a folder. Files may be deleted while no engine does.
  std::string disk_folder = {};
  int64_t disk_max_bytes = int64_t{8} << 30;
  // Encrypts what is on disk (XChaCha20-Poly1305). Other keys' files are ignored.
  std::optional<std::array<uint8_t, 32>> disk_key = {};
  // Told of each file that is ignored and why; on the engine's threads.
  std::function<void(std::string_view)> note = {};
};

// Why a prompt's tokens were not all found.
enum class CacheMiss : uint8_t {
  none,      // all but the last one, which is always computed
  unknown,   // nothing that is kept goes on so
  diverged,  // what is kept goes on differently
  evicted,   // it was kept and is not in memory
  off,       // the request or the engine wants no reuse
  too_few,   // fewer than min_cache_tokens
};
// "none", "unknown", …
std::string_view cache_miss_name(CacheMiss miss);

struct KvCacheStats {
  KvType type = KvType::int8;  // in use
  int64_t page_tokens = 0;
  int64_t page_bytes = 0;
  int64_t memory_bytes = 0;  // of all pages, tails included
  int64_t total_pages = 0;
  int64_t free_pages = 0;
  int64_t cached_pages = 0;     // of kept prefixes, in memory
  int64_t evictable_pages = 0;  // of them, not in use by a running sequence
  int64_t cached_tokens = 0;    // in memory or on disk
  int64_t index_bytes = 0;      // memory of the prefix tree itself
  // Of int4 and int2: pages of the newest tokens in f16.
  int64_t tail_pages = 0;
  int64_t used_tail_pages = 0;
  int64_t demoted_pages = 0;  // that lost theirs to others

  int64_t lookups = 0;
  int64_t hits = 0;           // that reused anything
  int64_t prompt_tokens = 0;  // looked up
  int64_t reused_tokens = 0;  // of them
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
