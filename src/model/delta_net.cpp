// Linear attention by the gated delta rule: a short convolution over queries, keys and values, the
// rule itself, and a norm of each value head that a gate multiplies. Where decays are of channels,
// they and the gate are made of narrow rows.
#include "model/layer_step.h"

namespace ruv {
namespace {

// The products with the stream, a.h.
void multiply_inputs(const LayerStep& step, std::span<const std::pair<Role, View>> products) {
  std::vector<Ops::Product> all;
  for (const auto& [role, view] : products) all.push_back(product(view, step.weights()[role]));
  step.ops.matmul_each(all, step.a.h);
  for (const auto& [role, view] : products) step.adapt(role, view, step.a.h);
}

// Two products, of which the second reads a row as narrow as a head.
void multiply_twice(const LayerStep& step, Role down, Role up, View out) {
  const View low = cut(step.a.low, step.plan().extent(LayerSize::delta_low));
  step.multiply(down, low, step.a.h);
  step.multiply(up, out, low);
}

}  // namespace

void delta_net(const LayerStep& step) {
  const LayerPlan& p = step.plan();
  const LayerWeights& w = step.weights();
  const Activations::Views& a = step.a;
  Ops& ops = step.ops;
  const View qkv = cut(a.conv, p.extent(LayerSize::conv));
  const View gate = cut(a.attn_gate, p.extent(LayerSize::inner));
  const View beta = cut(a.beta, p.delta.n_values);
  const View decay = cut(a.decay, p.delta.n_decays());
  const View out = cut(a.attn, p.extent(LayerSize::inner));
  const std::pair<Role, View> products[] = {
      {Role::delta_in, qkv}, {Role::beta, beta}, {Role::delta_gate, gate}, {Role::decay, decay}};
  multiply_inputs(step, std::span(products).first(p.delta.by_channel ? 2 : 4));
  if (p.delta.by_channel) {
    multiply_twice(step, Role::gate_low, Role::gate_up, gate);
    multiply_twice(step, Role::decay_low, Role::decay_up, decay);
  }

  ops.convolve(qkv,
               {.layer = step.layer, .taps = &w.conv_taps, .bias = &w.conv_bias, .act = p.act});
  ops.delta_rule(out, {qkv, beta, decay},
                 {.layer = step.layer,
                  .state_begin = p.n_convolved_numbers(),
                  .n_key_heads = p.delta.n_keys,
                  .n_value_heads = p.delta.n_values,
                  .key_dim = p.delta.key_dim,
                  .value_dim = p.delta.value_dim,
                  .tiled = p.delta.tiled,
                  .beta_scale = p.delta.beta_scale,
                  .decay_rate = &w.decay_rate,
                  .decay_bias = &w.decay_bias});
  const View heads = out.split(p.delta.value_dim);
  ops.norm(heads, heads, w.inner_norm, {}, {Norm::rms, p.linear_norm_eps});
  ops.gate(gate, out, p.delta.by_channel ? Act::sigmoid : Act::silu);
  step.multiply(Role::delta_out, a.h, gate);
}

}  // namespace ruv
