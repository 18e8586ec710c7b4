// Keys of classes whose scores have something added for distances.
#include <algorithm>
#include <cmath>

#include "format/hf_values.h"

namespace ruv {
namespace {

constexpr std::string_view kBuckets = "attention.relative_buckets_count";

// Without a reach the class computes 32 buckets, whatever the key says; the table may have more
// rows.
Status read_numbers(const Members& config, HfValues& out) {
  constexpr int64_t kComputed = 32;
  const std::string_view name = out.hf().distance_buckets_key;
  const std::string_view reach = out.hf().distance_reach_key;
  if (!reach.empty()) {
    constexpr int64_t kUsualReach = 128;
    out.set(kBuckets, TRY(config.positive_or(name, kComputed)), config.path_of(name));
    out.set("attention.relative_max_distance", TRY(config.positive_or(reach, kUsualReach)),
            config.path_of(reach));
    out.set("attention.own_distances", out.hf().own_distances, "");
    return {};
  }
  if (TRY(config.positive_or(name, kComputed)) < kComputed) {
    return config.wrong(name, "is below 32, which are computed", Code::unsupported);
  }
  out.set(kBuckets, kComputed, config.path_of(name));
  return {};
}

// What is added: "c2p" and "p2c" in a list, or in a text between bars.
struct Products {
  bool by_query = false, by_key = false;
};
Result<Products> read_kinds(const Members& config) {
  constexpr std::string_view kName = "pos_att_type";
  Products found;
  if (!config.is_set(kName)) return found;
  std::vector<std::string> kinds;
  const Json& value = *config.find(kName);
  if (value.is_string()) {
    std::string text = value.get<std::string>();
    std::ranges::replace(text, '|', ' ');
    std::string word;
    for (const char c : text + " ") {
      if (c != ' ') word.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
      if (c == ' ' && !word.empty()) kinds.push_back(std::exchange(word, {}));
    }
  } else if (value.is_array()) {
    for (const Json& one : value) kinds.push_back(one.is_string() ? one.get<std::string>() : "");
  } else {
    return config.wrong(kName, "is neither a text nor a list");
  }
  for (const std::string& kind : kinds) {
    if (kind != "c2p" && kind != "p2c") {
      return config.wrong(kName, "has something other than c2p and p2c", Code::unsupported);
    }
    (kind == "c2p" ? found.by_query : found.by_key) = true;
  }
  return found;
}

// A key that is absent, null, or below 1 means none.
Result<int64_t> optional_count(const Members& config, std::string_view name) {
  if (!config.is_set(name)) return int64_t{0};
  const Json& value = *config.find(name);
  if (value.is_number_integer() && value.get<int64_t>() < 1) return int64_t{0};
  return config.positive(name);
}

Result<bool> flag(const Members& config, std::string_view name, bool absent) {
  return config.is_set(name) ? TRY(config.truth(name)).value_or(absent) : absent;
}

Status read_products(const Members& config, const HfDistanceSizes& sizes, HfValues& out) {
  const Products products = TRY(read_kinds(config));
  const bool relative = TRY(flag(config, "relative_attention", false));
  const int factor = 1 + int{products.by_query} + int{products.by_key};
  out.set("attention.scale", 1 / std::sqrt(static_cast<double>(sizes.head_dim * factor)),
          config.path_of("pos_att_type"));
  const bool has_table = TRY(flag(config, "position_biased_input", true));
  out.set("learned_positions", has_table, config.path_of("position_biased_input"));
  out.set("attention.relative", relative, config.path_of("relative_attention"));
  if (!relative) return {};
  const int64_t given = TRY(optional_count(config, "max_relative_positions"));
  out.set("attention.relative_positions", given > 0 ? given : sizes.n_positions,
          config.path_of("max_relative_positions"));
  const int64_t buckets = TRY(optional_count(config, "position_buckets"));
  if (buckets > 0) out.set(kBuckets, buckets, config.path_of("position_buckets"));
  out.set("attention.content_to_position", products.by_query, config.path_of("pos_att_type"));
  out.set("attention.position_to_content", products.by_key, config.path_of("pos_att_type"));
  out.set("attention.shared_positions", TRY(flag(config, "share_att_key", false)),
          config.path_of("share_att_key"));
  constexpr std::string_view kNorm = "norm_rel_ebd";
  const std::string norm = config.is_set(kNorm) ? TRY(config.text_or(kNorm, "none")) : "none";
  if (norm != "none" && norm != "layer_norm") {
    return config.wrong(kNorm, "is neither none nor layer_norm", Code::unsupported);
  }
  out.set("attention.normed_positions", norm == "layer_norm", config.path_of(kNorm));
  return {};
}

}  // namespace

Status read_hf_distances(const Members& config, const HfDistanceSizes& sizes, HfValues& out) {
  switch (out.family().block.distances) {
    case Distances::none:
      return {};
    case Distances::numbers:
      return read_numbers(config, out);
    case Distances::products:
      return read_products(config, sizes, out);
  }
  return {};
}

bool HfConfig::has_distance_tensor(std::string_view gguf_name) const {
  if (family->block.distances != Distances::products) return true;
  const auto flag = [&](std::string_view key) {
    const auto found = metadata.find(fmt::format("{}.{}", architecture, key));
    return found != metadata.end() && std::get<bool>(found->second);
  };
  if (gguf_name == "position_embd.weight") return flag("learned_positions");
  if (gguf_name == "rel_embd.weight") return flag("attention.relative");
  if (gguf_name.starts_with("rel_embd_norm.")) return flag("attention.normed_positions");
  const bool of_query = gguf_name.find(".attn_pos_q.") != gguf_name.npos;
  const bool of_key = gguf_name.find(".attn_pos_k.") != gguf_name.npos;
  if (!of_query && !of_key) return true;
  return !flag("attention.shared_positions") &&
         flag(of_query ? "attention.position_to_content" : "attention.content_to_position");
}

}  // namespace ruv
