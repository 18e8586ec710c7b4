// A list with the base of each layer's positions.
#include <algorithm>

#include "format/hf_values.h"

namespace ruv {
namespace {

// What layers of one kind have: 0, where none of them has positions.
struct KindBase {
  double base = 0;
  bool differs = false;

  void add(double other) {
    if (other == 0) return;
    differs |= base != 0 && base != other;
    base = other;
  }
};

}  // namespace

Status read_hf_layer_bases(const Members& config, const std::vector<bool>& windowed,
                           HfValues& out) {
  const std::string_view name = out.hf().layer_bases_key;
  if (name.empty() || !config.is_set(name)) return {};
  const Json& list = *config.find(name);
  const auto is_base = [](const Json& one) { return one.is_number() && one.get<double>() >= 0; };
  if (!list.is_array() || list.size() != windowed.size() || !std::ranges::all_of(list, is_base)) {
    return config.wrong(name, "is not an array with a number from 0 on for each layer");
  }
  KindBase all, near;
  auto rotated = std::make_shared<MetaArray>();
  for (size_t i = 0; i < windowed.size(); ++i) {
    const auto base = list[i].get<double>();
    (windowed[i] ? near : all).add(base);
    rotated->bools.push_back(base != 0);
  }
  if (all.differs || near.differs) {
    return config.wrong(name, "has several bases in layers of one kind", Code::unsupported);
  }
  const double base = all.base != 0 ? all.base : near.base;
  if (base != 0) out.set("rope.freq_base", base, config.path_of(name));
  if (near.base != 0 && near.base != base) {
    const Members rope = TRY(rope_object(config, out));
    const std::string older = TRY(rope.text_or("type", "default"));
    if (TRY(rope.text_or("rope_type", older)) != "default") {
      return config.wrong(name, "has two bases beside a scaling of positions", Code::unsupported);
    }
    out.set("rope.freq_base_swa", near.base, config.path_of(name));
  }
  out.set("rope.rotated_layers", std::shared_ptr<const MetaArray>(rotated), config.path_of(name));
  return {};
}

}  // namespace ruv
