#include "capi/load_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/json.h"
#include "net/http/access.h"

namespace ruv {
namespace {

// Counts that no machine reaches are refused.
constexpr IntegerRange kAnyCount{0, int64_t{1} << 40};
constexpr JsonLimits kOptionLimits{.depth = 8, .values = 10'000};

// An object that has only these members.
CallResult<Json> read_options(const char* text, std::span<const char* const> names) {
  if (text == nullptr) return Json::object();
  auto json = parse_json(text, "options", kOptionLimits);
  if (!json) {
    return tl::unexpected<CallError>(
        bad_request("options", json.error().message(), "invalid_body"));
  }
  if (!json->is_object())
    return tl::unexpected<CallError>(wrong_type("options", "an object", *json).value());
  for (const auto& [key, value] : json->items()) {
    if (std::ranges::find(names, key) == names.end()) {
      return tl::unexpected<CallError>(unknown_field(std::string(shortened(key, 100))).value());
    }
  }
  return std::move(*json);
}

// Absent and null give "".
FieldResult<std::string> read_text(const Json& options, const char* name) {
  const Json* const field = find_field(options, name);
  if (field == nullptr) return std::string();
  if (!field->is_string()) return wrong_type(name, "a string", *field);
  if (field->text().find('\0') != std::string_view::npos) {
    return invalid_field(name, fmt::format("'{}' must not have NUL", name));
  }
  return std::string(field->text());
}

// Absent and null give none.
FieldResult<std::vector<std::string>> read_texts(const Json& options, const char* name) {
  std::vector<std::string> texts;
  const Json* const field = find_field(options, name);
  if (field == nullptr) return texts;
  if (!field->is_array()) return wrong_type(name, "a list of strings", *field);
  for (const Json& one : *field) {
    if (!one.is_string()) return wrong_type(name, "a list of strings", *field);
    texts.emplace_back(one.text());
  }
  return texts;
}

// Absent: the type that suits the model.
FieldResult<std::optional<KvType>> read_kv_type(const Json& options) {
  const std::string name = TRY(read_text(options, "kv_type"));
  if (name.empty()) return std::nullopt;
  const std::optional<KvType> type = find_kv_type(name);
  if (!type) {
    return invalid_field("kv_type", "'kv_type' must be \"f16\", \"int8\", \"int4\" or \"int2\"");
  }
  return type;
}

// The key of the folder for the cache; absent: its files are not encrypted.
FieldResult<std::optional<std::array<uint8_t, 32>>> read_key(const Json& options) {
  const std::string digits = TRY(read_text(options, "cache_key"));
  std::optional<std::array<uint8_t, 32>> key;
  if (digits.empty()) return key;
  key.emplace();
  if (digits.size() != 2 * key->size() ||
      digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos) {
    return invalid_field("cache_key",
                         fmt::format("'cache_key' must be {} hexadecimal digits", 2 * key->size()));
  }
  for (size_t i = 0; i < key->size(); ++i) {
    std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, (*key)[i], 16);
  }
  return key;
}

// Absent and null give none.
FieldResult<std::vector<LocalModelOptions::NamedAdapter>> read_named_adapters(const Json& options) {
  std::vector<LocalModelOptions::NamedAdapter> adapters;
  const Json* const field = find_field(options, "adapters");
  if (field == nullptr) return adapters;
  constexpr const char* kWanted = "an object of names and paths";
  if (!field->is_object()) return wrong_type("adapters", kWanted, *field);
  for (const auto& [name, path] : field->items()) {
    if (!path.is_string()) return wrong_type("adapters", kWanted, *field);
    if (path.text().find('\0') != std::string_view::npos) {
      return invalid_field("adapters", "a path in 'adapters' must not have NUL");
    }
    adapters.push_back({std::string(name), std::string(path.text())});
  }
  return adapters;
}

FieldResult<KvCacheConfig> read_cache(const Json& options) {
  KvCacheConfig kv;
  kv.type = TRY(read_kv_type(options));
  kv.max_tokens = TRY(read_integer(options, "cache_tokens", 0, kAnyCount));
  kv.disk_folder = TRY(read_text(options, "cache_dir"));
  kv.disk_max_bytes = TRY(read_integer(options, "cache_disk_mib", 8192, {1, int64_t{1} << 30}))
                      << 20;
  kv.disk_key = TRY(read_key(options));
  return kv;
}

}  // namespace

// A draft model may be a head for this model or a model of its own: the file says which.
CallResult<LocalModelOptions> read_load_options(const char* json) {
  static constexpr std::array kNames = {
      "n_ctx",          "n_threads", "kv_type",    "max_sequences", "cache_tokens", "cache_dir",
      "cache_disk_mib", "cache_key", "packed_dir", "draft_model",   "draft_head",   "ignore_keys",
      "portable",       "name",      "adapters",   "adapter_dir",   "adapter_mib",  "quantize"};
  const Json options = TRY(read_options(json, kNames));
  LocalModelOptions out;
  EngineOptions& engine = out.engine;
  engine.n_ctx = TRY(read_integer(options, "n_ctx", 0, {0, int64_t{1} << 24}));
  engine.n_threads = static_cast<int>(TRY(read_integer(options, "n_threads", 0, {0, 1024})));
  engine.max_sequences =
      TRY(read_integer(options, "max_sequences", engine.max_sequences, {1, 1024}));
  engine.kv = TRY(read_cache(options));
  LoadOptions& load = out.load;
  load.n_threads = engine.n_threads;
  load.packed_cache_dir = TRY(read_text(options, "packed_dir"));
  load.draft_head = TRY(read_flag(options, "draft_head", true));
  load.portable = TRY(read_flag(options, "portable", false));
  load.ignored_keys = TRY(read_texts(options, "ignore_keys"));
  load.quantize = TRY(read_text(options, "quantize"));
  out.name = TRY(read_text(options, "name"));
  out.draft_model = TRY(read_text(options, "draft_model"));
  out.adapters = TRY(read_named_adapters(options));
  out.adapter_folder = TRY(read_text(options, "adapter_dir"));
  out.adapter_bytes = TRY(read_integer(options, "adapter_mib", 512, {1, int64_t{1} << 30})) << 20;
  if (!out.draft_model.empty() && is_draft_head(out.draft_model)) {
    load.draft_head_file = std::exchange(out.draft_model, {});
  }
  return out;
}

// A server in a program takes no signals, which are the program's.
CallResult<ServerOptions> read_server_options(const char* json) {
  static constexpr std::array kNames = {"host",   "port",        "api_key",
                                        "no_key", "allow_hosts", "cors_origins"};
  const Json options = TRY(read_options(json, kNames));
  ServerOptions out;
  const std::string host = TRY(read_text(options, "host"));
  if (!host.empty()) out.host = host;
  out.port = static_cast<uint16_t>(TRY(read_integer(options, "port", 0, {0, 65535})));
  const std::string key = TRY(read_text(options, "api_key"));
  if (!key.empty()) out.api_keys = ApiKeys(key);
  out.allowed_hosts = TRY(read_texts(options, "allow_hosts"));
  out.cors_origins = TRY(read_texts(options, "cors_origins"));
  const bool no_key = TRY(read_flag(options, "no_key", false));
  if (out.api_keys.empty() && !no_key && !is_loopback(out.host)) {
    return tl::unexpected<CallError>(bad_request(
        "host", "'host' lets other machines use the server: give 'api_key', or 'no_key': true"));
  }
  return out;
}

}  // namespace ruv
