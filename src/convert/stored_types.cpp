// The plan of quantising says which tensors are matrices; a rule by its whole name keeps each that
// is not of the usual type.
#include "convert/stored_types.h"

#include <algorithm>
#include <map>

#include "format/quant_plan.h"

namespace ruv {

Result<StoredTypes> stored_types(const ModelFile& in) {
  constexpr std::string_view kNames[] = {"f32", "f16", "bf16"};
  const std::vector<PlannedTensor> plan = TRY(plan_tensors(in, *find_quant_type("f32"), {}));
  std::map<DType, int64_t> numbers;
  for (const PlannedTensor& planned : plan) {
    if (planned.is_free) numbers[planned.from] += planned.n_numbers();
  }
  StoredTypes types{.type = std::string(kNames[0]), .rules = {}};
  int64_t most = 0;
  for (const std::string_view name : kNames) {
    const int64_t n = numbers[find_quant_type(name)->base];
    if (n > most) types.type = name;
    most = std::max(most, n);
  }
  const DType usual = find_quant_type(types.type)->base;
  for (const PlannedTensor& planned : plan) {
    if (!planned.is_free || planned.from == usual) continue;
    types.rules.push_back({.pattern = planned.tensor.name, .dtype = planned.from});
  }
  return types;
}

}  // namespace ruv
