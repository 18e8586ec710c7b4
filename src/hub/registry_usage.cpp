#include "hub/registry_usage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"

namespace ruv {
namespace {

constexpr uint64_t kMaxParams = 64 << 10;
constexpr uint64_t kMaxSystem = 256 << 10;
constexpr JsonLimits kParamsLimits{.depth = 4, .values = 1000};
// The whole context.
constexpr double kWholeWindow = 1 << 30;

struct ParamRow {
  std::string_view name;    // in a params layer
  std::string_view option;  // of the options table; empty: it has no effect
  std::string_view advice = {};
  // What -1 means; absent: nothing.
  double minus_one = -1;
};
constexpr ParamRow kParams[] = {
    {"temperature", "temperature"},
    {"top_k", "top_k", "", 0},
    {"top_p", "top_p"},
    {"min_p", "min_p"},
    {"typical_p", "typical_p"},
    {"repeat_penalty", "repetition_penalty"},
    {"repeat_last_n", "repetition_window", "", kWholeWindow},
    {"presence_penalty", "presence_penalty"},
    {"frequency_penalty", "frequency_penalty"},
    {"mirostat", "mirostat"},
    {"mirostat_tau", "mirostat_tau"},
    {"mirostat_eta", "mirostat_eta"},
    {"num_ctx", "", "give it as --ctx"},
    {"num_predict", "", "give it as --max-tokens"},
    {"seed", "", "give it as --seed"},
};

void add_unused(RegistryUsage& usage, std::string_view param, std::string_view why) {
  usage.unused.push_back(fmt::format("params: {:.60}{}{}{}", param, why.empty() ? "" : " (", why,
                                     why.empty() ? "" : ")"));
}

// A later value of an option takes the place of an earlier one.
void set_option(RegistryUsage& usage, std::string_view option, double value) {
  const auto same = std::ranges::find(usage.sampling, option,
                                      [](const auto& one) { return std::string_view(one.first); });
  if (same != usage.sampling.end()) {
    same->second = value;
  } else {
    usage.sampling.emplace_back(option, value);
  }
}

void add_stop(const Json& value, RegistryUsage& usage) {
  std::vector<std::string> texts;
  const bool is_list = value.is_array() &&
                       std::ranges::all_of(value, [](const Json& one) { return one.is_string(); });
  if (value.is_string()) texts.emplace_back(value.text());
  if (is_list) {
    for (const Json& one : value) texts.emplace_back(one.text());
  }
  std::erase(texts, "");
  if (is_list || value.is_string()) {
    usage.stop = std::move(texts);
  } else {
    add_unused(usage, "stop", "it is not a list of texts");
  }
}

void add_param(std::string_view name, const Json& value, RegistryUsage& usage) {
  if (name == "stop") return add_stop(value, usage);
  const auto* const row = std::ranges::find(kParams, name, &ParamRow::name);
  if (row == std::end(kParams)) return add_unused(usage, name, "");
  if (row->option.empty()) return add_unused(usage, name, row->advice);
  if (!value.is_number()) return add_unused(usage, name, "it is not a number");
  const double number = value.get<double>();
  set_option(usage, row->option, number == -1 ? row->minus_one : number);
}

// What a layer of this kind has no effect for; empty: it has one.
std::string_view why_unused(LayerKind kind) {
  switch (kind) {
    case LayerKind::chat_template:
      return "the GGUF file has its own";
    case LayerKind::messages:
      return "give them in each conversation";
    case LayerKind::projector:
      return "pictures are not read";
    default:
      return "";
  }
}

}  // namespace

void add_registry_params(std::string_view text, RegistryUsage& usage) {
  const Result<Json> json = parse_json(text, "params", kParamsLimits);
  if (!json || !json->is_object()) {
    usage.unused.emplace_back("params (no JSON object)");
    return;
  }
  for (const auto& [name, value] : json->items()) add_param(name, value, usage);
}

void add_registry_system(std::string_view text, RegistryUsage& usage) {
  if (is_valid_utf8(text)) {
    usage.system = text;
  } else {
    usage.unused.emplace_back("system message (no UTF-8)");
  }
}

RegistryUsage read_registry_usage(const RegistryStore& store, const RegistryManifest& manifest) {
  RegistryUsage usage;
  for (const RegistryLayer& layer : manifest.layers) {
    const std::string_view why = why_unused(layer.kind);
    if (!why.empty()) usage.unused.push_back(fmt::format("{} ({})", layer_name(layer.kind), why));
    const bool is_params = layer.kind == LayerKind::params;
    if (!is_params && layer.kind != LayerKind::system) continue;
    const uint64_t most = is_params ? kMaxParams : kMaxSystem;
    const Result<std::string> text = store.layer_text(layer, most);
    if (!text) {
      usage.unused.push_back(
          fmt::format("{} ({})", layer_name(layer.kind), text.error().message()));
    } else if (is_params) {
      add_registry_params(*text, usage);
    } else {
      add_registry_system(*text, usage);
    }
  }
  return usage;
}

}  // namespace ruv
