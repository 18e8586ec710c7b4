// Drafting heads that have a folder of their own: what a config says beside their layer's numbers.
#include "format/hf_values.h"

namespace ruv {
namespace {

// Where one of these is set: a list of the layers that give what is read, counted from 0, or, where
// the key is not in an object of its own, of those that read the same.
Status read_places(const Members& config, HfValues& out) {
  constexpr std::string_view kGiving = "eagle_config.eagle_aux_hidden_state_layer_ids";
  constexpr std::string_view kReading = "eagle_aux_hidden_state_layer_ids";
  constexpr int64_t kMost = 65536;
  const bool is_giving = config.is_set(kGiving);
  if (!is_giving && !config.is_set(kReading)) return {};
  const std::string_view key = is_giving ? kGiving : kReading;
  if (is_giving && config.is_set(kReading)) {
    return config.wrong(kReading, "is there twice", Code::unsupported);
  }
  const Json& ids = *config.find(key);
  auto places = std::make_shared<MetaArray>();
  if (ids.is_array()) {
    for (const Json& id : ids) {
      const bool is_layer = id.is_number_integer() && id.get<int64_t>() >= 0;
      if (is_layer && id.get<int64_t>() < kMost)
        places->integers.push_back(id.get<int64_t>() + int64_t{is_giving});
    }
  }
  if (!ids.is_array() || places->size() != ids.size()) {
    return config.wrong(key, "is not an array of layers");
  }
  out.set("target_layers", std::shared_ptr<const MetaArray>(places), std::string(key));
  return {};
}

}  // namespace

Result<Json> whole_head_config(const Members& config) {
  const Members layer = TRY(config.object("transformer_layer_config"));
  Json whole = config.json();
  for (const auto& [key, value] : layer.json().items()) {
    if (!whole.contains(key)) whole[key] = value;
  }
  whole.erase("transformer_layer_config");
  return whole;
}

Status read_hf_draft_head(const Members& config, HfValues& out) {
  for (const std::string_view key : {"draft_vocab_size", "target_hidden_size"}) {
    if (!config.is_set(key)) continue;
    out.set(key, TRY(config.positive(key)), config.path_of(key));
  }
  constexpr std::string_view kNormed = "norm_before_residual";
  if (config.has("speculators_model_type") && !config.is_set(kNormed)) {
    return config.wrong(kNormed, "is missing", Code::unsupported);
  }
  const bool normed = config.is_set(kNormed) && TRY(config.truth(kNormed)).value_or(false);
  out.set(kNormed, normed, config.path_of(kNormed));
  return read_places(config, out);
}

}  // namespace ruv
