#include "model/bind_latent.h"

#include "model/file_rows.h"

namespace ruv {
namespace {

// The rows in [first, first + n) of each head's `width` rows.
MatrixRows part_of_heads(const MatrixRows& all, int64_t width, int64_t first, int64_t n) {
  MatrixRows part{fmt::format("{}[{}+{} of {}]", all.name, first, n, width),
                  all.dtype,
                  all.n_in,
                  {},
                  all.owned,
                  all.made};
  for (int64_t head = 0; head < std::ssize(all.rows); head += width) {
    const auto at = all.rows.begin() + head + first;
    part.rows.insert(part.rows.end(), at, at + n);
  }
  return part;
}

Status bind_queries(const Model& model, const LayerPlan& plan, const std::string& prefix,
                    WeightSource& source, LayerWeights& weights) {
  const LatentPlan& latent = plan.latent;
  const char* const tensor = latent.q_rank > 0 ? "attn_q_b" : "attn_q";
  const MatrixRows all =
      TRY(source.matrix(fmt::format("{}{}.weight", prefix, tensor),
                        plan.n_heads * latent.query_dim(), plan.extent(LayerSize::q_from)));
  const int64_t width = latent.query_dim();
  const MatrixRows plain = part_of_heads(all, width, 0, latent.plain_dim);
  MatrixRows rotated = part_of_heads(all, width, latent.plain_dim, latent.rope_dim);
  if (model.file->rope_order() == RopeOrder::neighbours) {
    rotate_as_halves(rotated.rows, Role::q_rope, plan, model.rope);
  }
  weights[Role::q_plain].weight = TRY(source.pack(plain));
  weights[Role::q_rope].weight = TRY(source.pack(rotated));
  return {};
}

// The matrices of a tensor that has one for each head.
Status pack_stack(const LayerPlan& plan, const std::string& name, Role role, WeightSource& source,
                  LayerWeights& weights) {
  const RoleRow& row = role_rows()[static_cast<size_t>(role)];
  for (int64_t head = 0; head < plan.n_heads; ++head) {
    const MatrixRows rows = TRY(
        source.of_stack(name, head, plan.n_heads, plan.extent(row.n_out), plan.extent(row.n_in)));
    weights[role].experts.push_back(TRY(source.pack(rows)));
  }
  return {};
}

}  // namespace

Status bind_latent(const Model& model, int64_t layer, WeightSource& source, LayerWeights& weights) {
  const LayerPlan& plan = model.plans[static_cast<size_t>(layer)];
  const LatentPlan& latent = plan.latent;
  const std::string prefix = fmt::format("blk.{}.", layer);
  TRY(bind_queries(model, plan, prefix, source, weights));
  const std::string keys = prefix + "attn_k_b.weight";
  if (source.has(keys)) {
    TRY(pack_stack(plan, keys, Role::k_b, source, weights));
    return pack_stack(plan, prefix + "attn_v_b.weight", Role::v_b, source, weights);
  }
  const int64_t width = latent.plain_dim + latent.value_dim;
  const MatrixRows all =
      TRY(source.matrix(prefix + "attn_kv_b.weight", plan.n_heads * width, latent.kv_rank));
  for (int64_t head = 0; head < plan.n_heads; ++head) {
    const MatrixRows key = all.part(head * width, latent.plain_dim);
    const MatrixRows value = all.part(head * width + latent.plain_dim, latent.value_dim);
    weights[Role::k_b].experts.push_back(TRY(source.pack(TRY(source.transpose_of(key)))));
    weights[Role::v_b].experts.push_back(TRY(source.pack(value)));
  }
  return {};
}

Status bind_index_norm(const Model& model, const LayerPlan& plan, const std::string& name,
                       WeightSource& source, NormWeights& norm) {
  const int64_t n = plan.index.head_dim;
  std::vector<float> weight = TRY(source.vector(name + ".weight", n));
  std::vector<float> bias = TRY(source.vector(name + ".bias", n));
  if (plan.index.neighbours && model.file->rope_order() == RopeOrder::neighbours) {
    rotate_as_halves(weight, Role::index_k, plan, model.rope);
    rotate_as_halves(bias, Role::index_k, plan, model.rope);
  }
  norm.weight = TRY(source.upload(std::move(weight)));
  norm.bias = TRY(source.upload(std::move(bias)));
  return {};
}

}  // namespace ruv
