#include "hub_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/file.h"

namespace ruv {
namespace {

constexpr size_t kMaxTokenBytes = 4096;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool is_true(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text == "1" || text == "true" || text == "yes" || text == "on";
}

// HF_HOME, else the folder below the user's caches.
Result<std::string> hub_home() {
  if (std::string home = variable("HF_HOME"); !home.empty()) return home;
  const std::string caches = variable("XDG_CACHE_HOME");
  if (!caches.empty()) return caches + "/huggingface";
  const std::string home = variable("HOME");
  if (home.empty()) return fail(Code::invalid, "there is no home directory: set HF_HOME");
  return home + "/.cache/huggingface";
}

std::string trimmed_text(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

// Empty: there is none.
Result<std::string> find_token() {
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (std::string token = trimmed_text(variable(name)); !token.empty()) return token;
  }
  std::string path = variable("HF_TOKEN_PATH");
  if (path.empty()) {
    const Result<std::string> home = hub_home();
    if (!home) return std::string();
    path = *home + "/token";
  }
  if (is_true(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN")) || !file_exists(path))
    return std::string();
  return trimmed_text(TRY(read_text_file(path)));
}

bool is_this_machine(std::string_view origin) {
  return origin.starts_with("http://localhost:") || origin.starts_with("http://127.0.0.1:") ||
         origin.starts_with("http://[::1]:");
}

}  // namespace

Result<std::string> hub_cache_folder() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (std::string folder = variable(name); !folder.empty()) return folder;
  }
  return TRY(hub_home()) + "/hub";
}

bool hub_is_offline() {
  return is_true(variable("HF_HUB_OFFLINE")) || is_true(variable("TRANSFORMERS_OFFLINE"));
}

Status offline_failure(const Status& not_here) {
  if (not_here.code() != Code::not_found) return not_here;
  const char* const name =
      is_true(variable("HF_HUB_OFFLINE")) ? "HF_HUB_OFFLINE" : "TRANSFORMERS_OFFLINE";
  return {Code::not_found,
          fmt::format("{}, and {} keeps it from being fetched", not_here.message(), name)};
}

Result<std::unique_ptr<HubAccess>> open_hub(int64_t stall_s) {
  HubHttp::Options options;
  options.stall_s = stall_s;
  options.endpoint = variable("HF_ENDPOINT");
  if (options.endpoint.empty()) options.endpoint = "https://huggingface.co";
  while (options.endpoint.ends_with('/')) options.endpoint.pop_back();
  const Result<std::string> origin = origin_of(options.endpoint);
  if (!origin) return fail(Code::invalid, "HF_ENDPOINT: {}", origin.error().message());
  options.token = TRY(find_token());
  const bool is_plain =
      std::ranges::all_of(options.token, [](char c) { return c > 32 && c < 127; });
  if (!is_plain || options.token.size() > kMaxTokenBytes)
    return fail(Code::invalid, "the hub's token has characters that no token has");
  if (!options.token.empty() && origin->starts_with("http:") && !is_this_machine(*origin)) {
    return fail(Code::invalid,
                "HF_ENDPOINT is http to another machine, over which no token is sent: use https, "
                "or unset HF_TOKEN");
  }
  return std::make_unique<HubAccess>(TRY(hub_cache_folder()), std::move(options));
}

}  // namespace ruv
