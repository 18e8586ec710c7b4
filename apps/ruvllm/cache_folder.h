// The folder where prefixes and sessions outlive the program: its flags, the same for every
// subcommand, and what they mean to the engine and to the session store.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "command_line.h"
#include "engine/session_store.h"
#include "ruv/kv_cache.h"

namespace ruv {

struct CacheFolder {
  std::string path;  // empty: memory only
  int64_t max_mebibytes = 8192;
  std::string key_file;  // empty: nothing is encrypted
};

// --cache-dir, --cache-disk and --cache-key.
void add_cache_flags(CommandLine& line, CacheFolder& cache);
// --cache-dir and --cache-key, for what only looks at sessions.
void add_session_flags(CommandLine& line, CacheFolder& cache);
// $XDG_CACHE_HOME/ruvllm or ~/.cache/ruvllm; empty: the user has no home.
std::string default_cache_folder();

// Sets what the engine needs; notes about files go to `line`, which must outlive the engine. Fails:
// as reading the key's file, invalid (no key in it).
Status keep_on_disk(const CommandLine& line, const CacheFolder& cache, KvCacheConfig& kv);
// Fails: as keep_on_disk and SessionStore::open. Requires: cache.path is not empty.
Result<std::unique_ptr<SessionStore>> open_sessions(const CommandLine& line,
                                                    const CacheFolder& cache,
                                                    bool read_only = false);
// The files of kept responses, in a folder beside. Fails and requires as open_sessions.
Result<std::unique_ptr<SessionStore>> open_responses(const CommandLine& line,
                                                     const CacheFolder& cache);

}  // namespace ruv
