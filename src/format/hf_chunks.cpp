// Keys of classes whose layers' windows have names of their own: chunks of positions, local layers.
#include <algorithm>

#include <fmt/format.h>

#include "format/hf_values.h"

namespace ruv {
namespace {

constexpr std::string_view kLayerKinds = "layer_types";

// Whether each layer sees chunks only, by its kind.
Result<std::vector<bool>> chunked_layers(const Members& config, int64_t n_layers) {
  // The usual kind of windows, sliding_attention, is none of this class.
  const Json& types = *config.find(kLayerKinds);
  const auto is_known = [](const Json& type) {
    return type == "chunked_attention" || type == "full_attention";
  };
  if (!types.is_array() || std::cmp_not_equal(types.size(), n_layers) ||
      !std::all_of(types.begin(), types.end(), is_known)) {
    return config.wrong(kLayerKinds,
                        "is not an array with \"chunked_attention\" or \"full_attention\" for "
                        "each layer",
                        Code::unsupported);
  }
  std::vector<bool> chunked;
  for (const Json& type : types) chunked.push_back(type == "chunked_attention");
  return chunked;
}

// A group, [["global", "local"], 12], appended as often as it says, up to n_layers + 1 layers.
bool append_group(const Json& group, size_t n_layers, std::vector<bool>& local) {
  const bool is_pair =
      group.is_array() && group.size() == 2 && group[0].is_array() && group[1].is_number_integer();
  if (!is_pair) return false;
  const auto is_known = [](const Json& kind) { return kind == "global" || kind == "local"; };
  if (group[0].empty() || !std::all_of(group[0].begin(), group[0].end(), is_known)) return false;
  const auto times = group[1].get<int64_t>();
  for (int64_t i = 0; i < times && local.size() <= n_layers; ++i) {
    for (const Json& kind : group[0]) local.push_back(kind == "local");
  }
  return true;
}

}  // namespace

Status read_hf_local_windows(const Members& config, int64_t n_layers, HfValues& out) {
  constexpr std::string_view kGroups = "attention_types", kSize = "window_size";
  auto pattern = std::make_shared<MetaArray>();
  std::vector<bool>& local = pattern->bools;
  const auto n = static_cast<size_t>(n_layers);
  if (config.is_set(kGroups)) {
    const Json& groups = *config.find(kGroups);
    const auto append = [&](const Json& group) { return append_group(group, n, local); };
    if (!groups.is_array() || !std::all_of(groups.begin(), groups.end(), append)) {
      return config.wrong(kGroups, "is not an array of kinds (\"global\", \"local\") and counts");
    }
  } else {
    // The class's own: 12 times a global layer and a local one.
    for (size_t i = 0; i < 24; ++i) local.push_back(i % 2 == 1);
  }
  if (local.size() != n) {
    return config.wrong(config.is_set(kGroups) ? kGroups : "num_layers",
                        fmt::format("gives other than the {} layers of the config", n_layers));
  }
  out.set("attention.sliding_window", TRY(config.positive_or(kSize, out.hf().window)),
          config.path_of(kSize));
  out.set("attention.sliding_window_pattern", std::shared_ptr<const MetaArray>(pattern),
          config.path_of(kGroups));
  return {};
}

Status read_hf_chunks(const Members& config, const std::vector<bool>& rotated, HfValues& out) {
  constexpr std::string_view kSize = "attention_chunk_size";
  const bool has_size = !config.has(kSize) || config.is_set(kSize);
  const int64_t size = has_size ? TRY(config.positive_or(kSize, out.hf().window)) : 0;
  // 0 where there are no chunks: files that say nothing mean a size of their own.
  out.set("attention.sliding_window", size, config.path_of(kSize));
  auto pattern = std::make_shared<MetaArray>();
  pattern->bools = rotated;
  if (!has_size) pattern->bools.assign(rotated.size(), false);
  if (config.is_set(kLayerKinds)) {
    pattern->bools = TRY(chunked_layers(config, std::ssize(rotated)));
    if (!has_size && std::ranges::count(pattern->bools, true) > 0) {
      return config.wrong(kLayerKinds,
                          "has chunked_attention, but there is no attention_chunk_size");
    }
  }
  out.set("attention.sliding_window_pattern", std::shared_ptr<const MetaArray>(pattern),
          config.path_of(kLayerKinds));
  return {};
}

}  // namespace ruv
