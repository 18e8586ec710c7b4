#include "train/draw_weights.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "base/elementary.h"
#include "base/rng.h"

namespace ruv {
namespace {

constexpr double kDeviation = 0.02;

bool writes_to_residual(std::string_view name) {
  return name.find(".attn_output") != name.npos || name.find(".ffn_down") != name.npos;
}

// Two numbers at a time (Box and Muller, 1958), the same on every machine.
void draw_normal(std::span<float> numbers, double deviation, Rng& rng) {
  for (size_t i = 0; i < numbers.size(); i += 2) {
    const double radius = std::sqrt(-2 * exact_log(1 - rng.uniform()));
    const auto turn = exact_sin_cos(2 * std::numbers::pi * rng.uniform());
    numbers[i] = static_cast<float>(deviation * radius * turn.cos);
    if (i + 1 < numbers.size()) numbers[i + 1] = static_cast<float>(deviation * radius * turn.sin);
  }
}

// Tables of angles are computed, not learned.
bool is_constant(std::string_view tensor) { return tensor.starts_with("rope_"); }

// What lies in the rows of parameters is found as it is when a model is written.
Status check_all(const Model& model, const Parameters<float>& parameters) {
  std::set<std::string, std::less<>> names;
  for (const TrainedTensor& tensor : TRY(trained_tensors(model, parameters))) {
    names.insert(tensor.name);
  }
  for (const TensorInfo& tensor : model.file->tensors()) {
    if (is_constant(tensor.name) || names.contains(tensor.name)) continue;
    return fail(Code::unsupported, "training: '{}' is not trained, and cannot be made anew",
                model.file->shown_tensor(tensor.name));
  }
  return {};
}

}  // namespace

Status draw_weights(const Model& model, const Parameters<float>& parameters, uint64_t seed) {
  TRY(check_all(model, parameters));
  const double of_residual = kDeviation / std::sqrt(2 * static_cast<double>(model.h.n_layers));
  Rng rng(seed);
  for (const Parameter<float>& parameter : parameters.all()) {
    if (parameter.matrix != nullptr) {
      const bool is_residual = writes_to_residual(parameter.name);
      draw_normal(parameter.values, is_residual ? of_residual : kDeviation, rng);
      continue;
    }
    const bool is_norm =
        parameter.name.find("norm") != parameter.name.npos && parameter.name.ends_with(".weight");
    std::ranges::fill(parameter.values, is_norm ? 1.0F : 0.0F);
  }
  return {};
}

}  // namespace ruv
