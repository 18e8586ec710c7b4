// The steps of an index: its key, its queries and their weights, and the choice.
#include "model/layer_step.h"

namespace ruv {

void choose_keys(const LayerStep& step, View q_low, std::span<const RopePlan> ropes) {
  static const Vector kNoCentre;
  const auto& [ops, model, layer, a, adapt] = step;
  const LayerPlan& p = step.plan();
  const IndexPlan& index = p.index;
  const View q = cut(a.index_q, p.extent(LayerSize::index_q));
  const View k = cut(a.index_k, index.head_dim);
  const View weights = cut(a.index_weights, index.n_heads);
  step.multiply(Role::index_q, q, q_low);
  step.multiply(Role::index_k, k, a.h);
  step.multiply(Role::index_weights, weights, a.h);
  const NormWeights& norm = step.weights()[NormRole::index_k];
  ops.norm(k, k, norm.weight, norm.bias, {Norm::layer, kLatentNormEps});
  if (p.rope >= 0) {
    const RopePlan& rope = ropes[static_cast<size_t>(p.rope)];
    ops.rope(q, index.head_dim, rope);
    ops.rope(k, index.head_dim, rope);
  }
  const int64_t kept = index_layer(model.plans, layer);
  ops.store_kv(kept, k, cut(k, 0), kNoCentre);
  ops.choose_keys(cut(a.chosen, index.n_chosen), q, weights,
                  {.layer = kept, .n_heads = index.n_heads, .head_dim = index.head_dim});
}

}  // namespace ruv
