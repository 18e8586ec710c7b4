#include "format/quantizable.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr float kMostOfF16 = 65504.0F;

// The greatest magnitude that survives in a format.
float most_in(DType dtype) {
  const bool wide = dtype == DType::f32 || dtype == DType::bf16;
  return wide ? std::numeric_limits<float>::max() : kMostOfF16;
}

}  // namespace

MixFacts mix_facts(const ModelFile& model) {
  MixFacts facts;
  facts.n_layers = model.integer("block_count").value_or(0);
  facts.n_experts = model.integer("expert_count").value_or(0);
  const auto heads = model.integers("attention.head_count").value_or(std::vector<int64_t>{1});
  const int64_t n_heads = heads.empty() ? 1 : std::ranges::max(heads);
  // Layers without key heads have no matrices that depend on their number.
  const auto counts = model.integers("attention.head_count_kv").value_or(std::vector{n_heads});
  const int64_t n_kv_heads = counts.empty() ? 0 : std::ranges::max(counts);
  if (n_kv_heads > 0) facts.heads_per_kv_head = n_heads / n_kv_heads;
  facts.tied_embeddings = model.find_tensor("output.weight") == nullptr;
  return facts;
}

int64_t first_misfit(std::span<const float> numbers, DType to) {
  const float greatest = most_in(to);
  const auto at =
      std::ranges::find_if(numbers, [&](float x) { return !(std::fabs(x) <= greatest); });
  return at == numbers.end() ? -1 : at - numbers.begin();
}

Status misfit(const std::string& path, std::string_view tensor, int64_t row, int64_t column,
              float number, DType to) {
  if (!std::isfinite(number)) {
    return fail(Code::corrupt, "{}: tensor '{}', row {}, column {}: {} is not a number a model has",
                path, quoted_name(tensor), row, column, number);
  }
  return fail(Code::invalid,
              "{}: tensor '{}', row {}, column {}: {} is above the {} that {} can hold; use type "
              "bf16 or f32",
              path, quoted_name(tensor), row, column, number, kMostOfF16, format_of(to).name);
}

Result<const QuantType*> known_quant_type(std::string_view name) {
  const QuantType* const type = find_quant_type(name);
  if (type != nullptr) return type;
  std::string names;
  for (const QuantType& each : quant_types()) names += fmt::format(" {}", each.name);
  return fail(Code::invalid, "quantisation type '{}' is unknown; there are:{}", quoted_name(name),
              names);
}

}  // namespace ruv
