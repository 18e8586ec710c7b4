// A matrix memory (model/matrix_memory.h).
#include "model/layer_step.h"

namespace ruv {

void mix_memory(const LayerStep& step) {
  const LayerPlan& p = step.plan();
  const LayerWeights& w = step.weights();
  const Activations::Views& a = step.a;
  const MatrixMemoryPlan& memory = p.memory;
  Ops& ops = step.ops;
  const std::pair<Role, View> inputs[] = {{Role::memory_q, cut(a.q, memory.n_keys())},
                                          {Role::memory_k, cut(a.k, memory.n_keys())},
                                          {Role::memory_v, cut(a.v, memory.n_inner())},
                                          {Role::memory_gate, cut(a.attn_gate, memory.n_inner())},
                                          {Role::memory_in, cut(a.beta, memory.n_heads)},
                                          {Role::memory_forget, cut(a.decay, memory.n_heads)}};
  std::vector<Ops::Product> products;
  for (const auto& [role, view] : inputs) products.push_back(product(view, w[role]));
  ops.matmul_each(products, a.h);
  for (const auto& [role, view] : inputs) step.adapt(role, view, a.h);
  const auto& [q, k, v, gate, opens, forgets] = inputs;
  ops.softcap(opens.second, memory.gate_cap);
  ops.softcap(forgets.second, memory.gate_cap);
  const View out = cut(a.attn, memory.n_inner());
  ops.matrix_memory(out, {q.second, k.second, v.second, opens.second, forgets.second},
                    {.layer = step.layer,
                     .state_begin = p.n_convolved_numbers(),
                     .n_heads = memory.n_heads,
                     .key_dim = memory.key_dim,
                     .value_dim = memory.value_dim,
                     .eps = memory.eps});
  const View heads = out.split(memory.value_dim);
  ops.norm(heads, heads, w.inner_norm, {}, {Norm::layer, p.norm_eps});
  ops.gate(gate.second, out, Act::sigmoid);
  step.multiply(Role::memory_out, a.h, gate.second);
}

}  // namespace ruv
