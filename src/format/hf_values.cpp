#include "format/hf_values.h"

#include "base/json.h"

namespace ruv {

HfValues::HfValues(const FoundClass& found, HfConfig& out)
    : family_(*found.family), hf_(*found.hf), out_(out) {
  if (hf_.default_rope.empty()) return;
  default_rope_ = std::move(*parse_json(hf_.default_rope, "default_rope", {.depth = 4}));
}

std::string HfValues::side_key(std::string_view key) const {
  return fmt::format("{}{}", is_encoder_ ? "encoder." : "", key);
}

void HfValues::set(std::string_view key, MetaValue value, std::string name) {
  const std::string own = side_key(key);
  out_.metadata.insert_or_assign(fmt::format("{}.{}", family_.name, own), std::move(value));
  out_.names.insert_or_assign(own, std::move(name));
}

const MetaValue* HfValues::find(std::string_view key) const {
  const auto found = out_.metadata.find(fmt::format("{}.{}", family_.name, side_key(key)));
  return found == out_.metadata.end() ? nullptr : &found->second;
}

void HfValues::remark(std::string text) {
  constexpr size_t kMost = 64;
  if (out_.remarks.size() < kMost) out_.remarks.push_back(std::move(text));
  if (out_.remarks.size() == kMost) out_.remarks.emplace_back("… and more of the kind");
}

}  // namespace ruv
