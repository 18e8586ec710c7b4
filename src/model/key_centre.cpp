// Means of turning vectors, in closed form.
#include "model/key_centre.h"

#include <algorithm>

#include "base/elementary.h"

namespace ruv {
namespace {

struct MeanTurn {
  double cos, sin;
};

// The mean turn of the angles 0, f, 2 f … (n - 1) f: a sum like the Dirichlet kernel's.
MeanTurn mean_turn(double f, int64_t n) {
  const double half = exact_sin_cos(f / 2).sin;
  if (half == 0) return {1, 0};
  const auto count = static_cast<double>(n);
  const double size = exact_sin_cos(count * f / 2).sin / (count * half);
  const SinCos middle = exact_sin_cos((count - 1) * f / 2);
  return {size * middle.cos, size * middle.sin};
}

}  // namespace

std::vector<float> key_centre(const Model& model, int64_t layer, std::span<const float> bias) {
  const LayerPlan& plan = model.plans[static_cast<size_t>(layer)];
  const auto is_zero = [](float x) { return x == 0; };
  if (std::ranges::all_of(bias, is_zero) || plan.qk_norm != QkNorm::none || plan.attn_softcap > 0 ||
      plan.clamp_qkv > 0)
    return {};
  std::vector<float> centre(bias.begin(), bias.end());
  if (plan.rope < 0) return centre;
  const RopePlan& rope = model.rope.plans[static_cast<size_t>(plan.rope)];
  const size_t n_pairs = rope.inv_freq.size();
  const auto head_dim = static_cast<size_t>(plan.head_dim);
  for (size_t i = 0; i < n_pairs; ++i) {
    const MeanTurn turn = mean_turn(double{rope.inv_freq[i]}, model.h.n_ctx_train);
    for (size_t head = 0; head < centre.size(); head += head_dim) {
      const double a = double{bias[head + i]} * double{rope.magnitude};
      const double b = double{bias[head + i + n_pairs]} * double{rope.magnitude};
      centre[head + i] = static_cast<float>(a * turn.cos - b * turn.sin);
      centre[head + i + n_pairs] = static_cast<float>(b * turn.cos + a * turn.sin);
    }
  }
  return centre;
}

}  // namespace ruv
