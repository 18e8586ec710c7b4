// KvType: how the keys and values of a context are stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ruv {

enum class KvType : uint8_t {
  f16,
  int8,  // with one scale per token and head: about half the memory, a little less exact
  // Old keys and values as codes of 4 or 2 bits, the newest in f16 (docs/kv-precision.md). Only for
  // models that `ruvllm kv-gate` has measured.
  int4,
  int2,
};

inline constexpr KvType kKvTypes[] = {KvType::f16, KvType::int8, KvType::int4, KvType::int2};

constexpr std::string_view kv_type_name(KvType type) {
  constexpr std::string_view kNames[] = {"f16", "int8", "int4", "int2"};
  return kNames[static_cast<int>(type)];
}

// Nothing for an unknown name.
constexpr std::optional<KvType> find_kv_type(std::string_view name) {
  for (const KvType type : kKvTypes) {
    if (name == kv_type_name(type)) return type;
  }
  return std::nullopt;
}

// Heads narrower than this share a scale among too few numbers for int8 (docs/kv-precision.md).
inline constexpr int64_t kNarrowHead = 32;

// The default type of a model with heads of head_dim numbers.
constexpr KvType default_kv_type(int64_t head_dim) {
  return head_dim < kNarrowHead ? KvType::f16 : KvType::int8;
}

}  // namespace ruv
