// The steps of latent attention: queries, the short row, scores and sums over short rows, values.
#include "model/layer_step.h"

namespace ruv {
namespace {

// Both parts of the queries: a.heads (heads · plain_dim), a.q_rope (heads · rope_dim).
void make_queries(const LayerStep& step) {
  const auto& [ops, model, layer, a, adapt] = step;
  const LayerPlan& p = step.plan();
  const LayerWeights& w = step.weights();
  View from = a.h;
  if (p.latent.q_rank > 0) {
    from = cut(a.q_low, p.latent.q_rank);
    step.multiply(Role::q_a, from, a.h);
    const NormWeights& norm = w[NormRole::q_a];
    ops.norm(from, from, norm.weight, norm.bias, {p.norm, kLatentNormEps});
  }
  const View plain = cut(a.heads, p.extent(LayerSize::q_plain));
  const View rotated = cut(a.q_rope, p.extent(LayerSize::q_rope));
  const Ops::Product parts[] = {product(plain, w[Role::q_plain]),
                                product(rotated, w[Role::q_rope])};
  ops.matmul_each(parts, from);
  adapt(Role::q_plain, plain, from);
  adapt(Role::q_rope, rotated, from);
}

// The short row: a.v (kv_rank), and the rotated part of keys: a.k_rope (rope_dim).
void make_row(const LayerStep& step) {
  const auto& [ops, model, layer, a, adapt] = step;
  const LayerPlan& p = step.plan();
  const LayerWeights& w = step.weights();
  const View row = cut(a.v, p.latent.kv_rank);
  const View rotated = cut(a.k_rope, p.latent.rope_dim);
  const Ops::Product parts[] = {product(row, w[Role::kv_a]), product(rotated, w[Role::k_rope])};
  ops.matmul_each(parts, a.h);
  adapt(Role::kv_a, row, a.h);
  adapt(Role::k_rope, rotated, a.h);
  const NormWeights& norm = w[NormRole::kv_a];
  ops.norm(row, row, norm.weight, norm.bias, {p.norm, kLatentNormEps});
}

}  // namespace

void latent_attention(const LayerStep& step, std::span<const RopePlan> ropes) {
  static const Vector kNoCentre;
  const auto& [ops, model, layer, a, adapt] = step;
  const LayerPlan& p = step.plan();
  const LayerWeights& w = step.weights();
  const LatentPlan& latent = p.latent;
  make_queries(step);
  make_row(step);
  if (p.index.is_own()) choose_keys(step, cut(a.q_low, latent.q_rank), ropes);
  const View q_rope = cut(a.q_rope, p.extent(LayerSize::q_rope)).split(latent.rope_dim);
  const View k_rope = cut(a.k_rope, latent.rope_dim);
  if (p.rope >= 0) {
    const RopePlan& rope = ropes[static_cast<size_t>(p.rope)];
    ops.rope(cut(a.q_rope, p.extent(LayerSize::q_rope)), latent.rope_dim, rope);
    ops.rope(k_rope, latent.rope_dim, rope);
  }
  const View q = cut(a.q, p.extent(LayerSize::q));
  const View k = cut(a.k, p.extent(LayerSize::k));
  const View row = cut(a.v, latent.kv_rank);
  const View out = cut(a.attn, p.extent(LayerSize::attn));
  ops.matmul_heads(out, cut(a.heads, p.extent(LayerSize::q_plain)), w[Role::k_b].experts);
  ops.join(q.split(p.head_dim), out.split(latent.kv_rank), q_rope);
  ops.join(k, row, k_rope);
  if (p.query_scale.slope != 0) ops.scale_by_position(q, p.query_scale);
  ops.store_kv(layer, k, row, kNoCentre);
  AttendParams params = attend_params(p, w, layer);
  if (p.index.exists()) params.chosen = cut(a.chosen, p.index.n_chosen);
  ops.attend(out, q, params);
  const View values = cut(a.heads, p.extent(LayerSize::o));
  ops.matmul_heads(values, out, w[Role::v_b].experts);
  step.multiply(Role::o, a.h, values);
}

}  // namespace ruv
