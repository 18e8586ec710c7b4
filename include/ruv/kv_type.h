// KvType: how the keys and values of a context are stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ruv {

enum class KvType : uint8_t {
  f16,
  int8,  // with one scale per token and head: about half the memory, a little less exact
};

constexpr std::string_view kv_type_name(KvType type) {
  return type == KvType::f16 ? "f16" : "int8";
}

// Nothing for a name that is none.
constexpr std::optional<KvType> find_kv_type(std::string_view name) {
  for (const KvType type : {KvType::f16, KvType::int8}) {
    if (name == kv_type_name(type)) return type;
  }
  return std::nullopt;
}

}  // namespace ruv
