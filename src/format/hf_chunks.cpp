// Keys of classes whose windows are chunks of positions.
#include <algorithm>

#include "format/hf_values.h"

namespace ruv {
namespace {

constexpr std::string_view kLayerKinds = "layer_types";

// Whether each layer sees chunks only, by its kind.
Result<std::vector<bool>> chunked_layers(const Members& config, int64_t n_layers) {
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

}  // namespace

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
