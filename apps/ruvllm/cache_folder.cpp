// One folder serves `run`, `serve` and `sessions`: pages of prefixes in it, sessions in a folder
// below. Both are encrypted with the same key.
#include "cache_folder.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/file.h"

namespace ruv {
namespace {

constexpr const char* kKeyHelp = "File with 64 hexadecimal digits: encrypts what is in the folder";

// No path gives no key. A line break after the digits is allowed, since editors add one.
Result<std::optional<std::array<uint8_t, 32>>> read_key(const std::string& path) {
  std::optional<std::array<uint8_t, 32>> key;
  if (path.empty()) return key;
  const std::string text = TRY(read_text_file(path));
  key.emplace();
  const auto digits = std::string_view(text).substr(0, text.find_last_not_of(" \r\n") + 1);
  if (digits.size() != 2 * key->size() ||
      digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos) {
    return fail(Code::invalid, "--cache-key {}: {} hexadecimal digits are needed", path,
                2 * key->size());
  }
  for (size_t i = 0; i < key->size(); ++i) {
    std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, (*key)[i], 16);
  }
  return key;
}

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
  kv.disk_key = TRY(read_key(cache.key_file));
  kv.note = [&line](std::string_view text) { line.note(text); };
  return {};
}

namespace {

Result<std::unique_ptr<SessionStore>> open_folder(const CommandLine& line, const CacheFolder& cache,
                                                  const char* name, bool read_only) {
  SessionStore::Options options;
  options.folder = cache.path + name;
  options.key = TRY(read_key(cache.key_file));
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
