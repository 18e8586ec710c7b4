// One folder serves `run`, `serve` and `sessions`: pages of prefixes in it, sessions in a folder
// below. Both are encrypted with the same key.
#include "cache_folder.h"

#include <cstdlib>
#include <string_view>

#include "key_source.h"

namespace ruv {
namespace {

constexpr const char* kKeyHelp =
    "Encrypts what is in the folder: a file with 64 hexadecimal digits, or env:NAME or "
    "keyring:NAME "
    "with those";

}  // namespace

void add_cache_flags(CommandLine& line, CacheFolder& cache) {
  const OptionGroup group(line, "Cache on disk");
  line.text(
      "--cache-dir", cache.path,
      "Folder that keeps the beginnings of prompts after the program ends; absent: memory only");
  line.integer("--cache-disk", cache.max_mebibytes, 1, int64_t{1} << 30,
               "Size limit of the folder in MiB");
  line.text("--cache-key", cache.key_file, kKeyHelp);
}

void add_session_flags(CommandLine& line, CacheFolder& cache) {
  line.text("--cache-dir", cache.path,
            "Folder with the sessions; $XDG_CACHE_HOME/ruvllm or ~/.cache/ruvllm when absent");
  line.text("--cache-key", cache.key_file, kKeyHelp);
}

// As the XDG base directory specification says: relative paths count as unset.
std::string default_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/ruvllm";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.cache/ruvllm";
  return {};
}

Status keep_on_disk(const CommandLine& line, const CacheFolder& cache, KvCacheConfig& kv) {
  kv.disk_folder = cache.path;
  kv.disk_max_bytes = cache.max_mebibytes << 20;
  kv.disk_key = TRY(read_key("--cache-key", cache.key_file));
  kv.note = [&line](std::string_view text) { line.note(text); };
  return {};
}

namespace {

Result<std::unique_ptr<SessionStore>> open_folder(const CommandLine& line, const CacheFolder& cache,
                                                  const char* name, bool read_only) {
  SessionStore::Options options;
  options.folder = cache.path + name;
  options.key = TRY(read_key("--cache-key", cache.key_file));
  options.read_only = read_only;
  options.note = [&line](std::string_view text) { line.note(text); };
  return SessionStore::open(std::move(options));
}

}  // namespace

Result<std::unique_ptr<SessionStore>> open_sessions(const CommandLine& line,
                                                    const CacheFolder& cache, bool read_only) {
  return open_folder(line, cache, "/sessions", read_only);
}

Result<std::unique_ptr<SessionStore>> open_responses(const CommandLine& line,
                                                     const CacheFolder& cache) {
  return open_folder(line, cache, "/responses", false);
}

}  // namespace ruv
