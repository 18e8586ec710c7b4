// Keys of classes whose attention differs from the usual: latent rows, queries that grow.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/elementary.h"
#include "format/hf_values.h"

namespace ruv {
namespace {

// Scaled positions make scores larger, by the square of what YaRN gives for mscale_all_dim.
Status set_latent_scale(const Members& config, int64_t query_dim, HfValues& out) {
  constexpr std::string_view kName = "mscale_all_dim";
  const Members rope = TRY(rope_object(config, out));
  const std::string older = TRY(rope.text_or("type", "default"));
  if (TRY(rope.text_or("rope_type", older)) == "default" || !rope.is_set(kName)) return {};
  const double all_dims = TRY(rope.number(kName)).value_or(0);
  if (all_dims == 0) return {};
  const auto factor = TRY(rope.number("factor"));
  if (!factor) return rope.wrong("factor", "is missing");
  const double growth = *factor > 1 ? 0.1 * all_dims * exact_log(*factor) + 1 : 1;
  out.set("attention.scale", growth * growth / std::sqrt(static_cast<double>(query_dim)),
          rope.path_of(kName));
  return {};
}

// Whether layer i of classes that state a period shares, as the class itself derives it.
Result<bool> shares_by_period(const Members& config, int64_t i) {
  const auto number_or = [&](std::string_view name, int64_t otherwise) -> Result<int64_t> {
    return config.has(name) ? config.integer(name) : Result<int64_t>(otherwise);
  };
  const int64_t period = std::max<int64_t>(TRY(number_or("index_topk_freq", 1)), 1);
  const int64_t offset = TRY(number_or("index_skip_topk_offset", 2));
  return std::max<int64_t>(i - offset + 1, 0) % period != 0;
}

// Which layers share what one before has chosen: a list, a text of "F" and "S" or a list in its
// place, or a period.
Status read_hf_shared_choices(const Members& config, int64_t n_layers, HfValues& out) {
  constexpr std::string_view kTypes = "indexer_types", kPattern = "index_topk_pattern";
  const std::string_view name = config.is_set(kTypes)     ? kTypes
                                : config.is_set(kPattern) ? kPattern
                                                          : std::string_view();
  auto shared = std::make_shared<MetaArray>();
  if (name.empty()) {
    for (int64_t i = 0; i < n_layers; ++i) {
      shared->bools.push_back(TRY(shares_by_period(config, i)));
    }
  } else if (const Json& list = *config.find(name); list.is_array()) {
    for (const Json& type : list) {
      if (type != "full" && type != "shared") {
        return config.wrong(name, "names kinds other than \"full\" and \"shared\"",
                            Code::unsupported);
      }
      shared->bools.push_back(type == "shared");
    }
  } else if (name == kPattern && list.is_string()) {
    for (const char type : list.get<std::string>()) {
      if (type != 'F' && type != 'S') return config.wrong(name, "has letters other than F and S");
      shared->bools.push_back(type == 'S');
    }
  }
  if (std::cmp_not_equal(shared->bools.size(), n_layers) || shared->bools.front()) {
    return config.wrong(name.empty() ? "index_skip_topk_offset" : name,
                        "does not give a kind to each layer, \"full\" to the first");
  }
  out.set("attention.indexer.shared_layers", std::shared_ptr<const MetaArray>(shared),
          config.path_of(name.empty() ? "index_topk_freq" : name));
  return {};
}

}  // namespace

Status read_hf_indexer(const Members& config, int64_t n_layers, HfValues& out) {
  const HfIndexer& usual = out.hf().indexer;
  if (usual.n_chosen == 0) return {};
  constexpr std::string_view kTypes = "layer_types", kQueries = "q_lora_rank";
  const auto is_indexed = [](const Json& type) { return type == "indexed_attention"; };
  if (config.is_set(kTypes) && (!config.find(kTypes)->is_array() ||
                                !std::ranges::all_of(*config.find(kTypes), is_indexed))) {
    return config.wrong(kTypes, "names kinds other than \"indexed_attention\"", Code::unsupported);
  }
  if (config.has(kQueries) && !config.is_set(kQueries)) {
    return config.wrong(kQueries, "is null, but an index needs it", Code::unsupported);
  }
  const std::tuple<std::string_view, std::string_view, int64_t> sizes[] = {
      {"attention.indexer.head_count", "index_n_heads", usual.n_heads},
      {"attention.indexer.key_length", "index_head_dim", usual.head_dim},
      {"attention.indexer.top_k", "index_topk", usual.n_chosen}};
  for (const auto& [key, name, otherwise] : sizes) {
    out.set(key, TRY(config.positive_or(name, otherwise)), config.path_of(name));
  }
  return usual.shares ? read_hf_shared_choices(config, n_layers, out) : Status();
}

Result<int64_t> read_hf_latent(const Members& config, const HfHeads& heads, HfValues& out) {
  const HfLatent& usual = out.hf().latent;
  if (heads.n_kv_heads != heads.n_heads) {
    return config.wrong("num_key_value_heads",
                        "differs from num_attention_heads, but all heads share one row",
                        Code::unsupported);
  }
  constexpr std::string_view kQueries = "q_lora_rank";
  if (config.is_set(kQueries) || (!config.has(kQueries) && usual.q_rank > 0)) {
    out.set("attention.q_lora_rank", TRY(config.positive_or(kQueries, usual.q_rank)),
            config.path_of(kQueries));
  }
  const auto width = [&](std::string_view key, std::string_view name,
                         int64_t otherwise) -> Result<int64_t> {
    const int64_t n = TRY(config.positive_or(name, otherwise));
    if (!key.empty()) out.set(key, n, config.path_of(name));
    return n;
  };
  TRY(width("attention.kv_lora_rank", "kv_lora_rank", usual.kv_rank));
  const int64_t plain = TRY(width("", "qk_nope_head_dim", usual.plain_dim));
  constexpr std::string_view kRotated = "qk_rope_head_dim";
  const std::string_view alias = usual.rope_alias;
  const bool has_alias = !alias.empty() && config.is_set(alias);
  const int64_t otherwise = has_alias ? TRY(config.positive(alias)) : usual.rope_dim;
  const int64_t rotated = TRY(width("", kRotated, otherwise));
  if (has_alias && rotated != otherwise) {
    return config.wrong(alias, "differs from qk_rope_head_dim", Code::unsupported);
  }
  constexpr std::string_view kValue = "v_head_dim";
  if (usual.value_dim == 0 && !config.is_set(kValue)) {
    if (heads.n_embd < heads.n_heads) {
      return config.wrong("num_attention_heads", "is above the hidden size");
    }
    out.set("attention.value_length", heads.n_embd / heads.n_heads, config.path_of(kValue));
  } else {
    TRY(width("attention.value_length", kValue, usual.value_dim));
  }
  out.set("attention.key_length", plain + rotated, config.path_of("qk_nope_head_dim"));
  // Files of models with other layers, too, have the widths of a head under names of their own.
  if (out.family().block.mixers == Mixers::delta_or_latent) {
    out.set("attention.key_length_mla", plain + rotated, config.path_of("qk_nope_head_dim"));
    out.set("attention.value_length_mla", TRY(config.positive_or(kValue, usual.value_dim)),
            config.path_of(kValue));
    out.set("rope.dimension_count", rotated, config.path_of(kRotated));
    return rotated;
  }
  TRY(set_latent_scale(config, plain + rotated, out));
  return rotated;
}

namespace {

// Slope and span; a slope of 0 means none, which is said where files that do not mean another.
Status set_growth(const Members& members, std::string_view slope_name, double slope,
                  std::string_view span_name, int64_t span, HfValues& out) {
  if (slope == 0 && out.family().usual_growth.slope == 0) return {};
  out.set("attention.temperature_scale", slope, members.path_of(slope_name));
  out.set("attention.temperature_length", span, members.path_of(span_name));
  return {};
}

// The class has no default for a part of the object.
Status read_growth_of_rope(const Members& config, HfValues& out) {
  constexpr std::string_view kSlope = "llama_4_scaling_beta";
  constexpr std::string_view kSpan = "original_max_position_embeddings";
  const Members rope = TRY(rope_object(config, out));
  const auto slope = TRY(rope.number(kSlope));
  if (!slope) return rope.wrong(kSlope, "is missing");
  const Members& place = config.is_set(kSpan) ? config : rope;
  return set_growth(place, kSlope, *slope, kSpan, TRY(place.positive_or(kSpan, 0)), out);
}

}  // namespace

Status read_hf_growth(const Members& config, HfValues& out) {
  switch (out.hf().growth) {
    case HfGrowth::none:
      return {};
    case HfGrowth::rope:
      return read_growth_of_rope(config, out);
    case HfGrowth::keys:
      break;
  }
  constexpr std::string_view kSlope = "attn_scale", kSpan = "floor_scale";
  constexpr double kUsualSlope = 0.1;
  constexpr int64_t kUsualSpan = 8192;
  const bool grows = TRY(config.truth("attn_temperature_tuning")).value_or(true);
  const double slope = grows ? TRY(config.number(kSlope)).value_or(kUsualSlope) : 0;
  return set_growth(config, kSlope, slope, kSpan, TRY(config.positive_or(kSpan, kUsualSpan)), out);
}

}  // namespace ruv
