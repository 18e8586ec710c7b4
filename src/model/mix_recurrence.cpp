// A gated linear recurrence (model/gated_recurrence.h) after a short convolution.
#include "model/layer_step.h"

namespace ruv {

void mix_recurrence(const LayerStep& step) {
  const LayerPlan& p = step.plan();
  const LayerWeights& w = step.weights();
  const Activations::Views& a = step.a;
  Ops& ops = step.ops;
  const int64_t n = p.recurrence.n_columns;
  const View y = cut(a.attn_gate, n);
  const View x = cut(a.conv, n);
  const View input_gate = cut(a.attn, n);
  const View decay_gate = cut(a.decay_gate, n);
  const Ops::Product products[] = {product(y, w[Role::recurrence_y]),
                                   product(x, w[Role::recurrence_x])};
  ops.matmul_each(products, a.h);
  step.adapt(Role::recurrence_y, y, a.h);
  step.adapt(Role::recurrence_x, x, a.h);
  ops.convolve(x, {.layer = step.layer, .taps = &w.conv_taps, .bias = &w.conv_bias});
  ops.matmul_heads(input_gate, x, w.recurrence.input_gates);
  ops.matmul_heads(decay_gate, x, w.recurrence.decay_gates);
  ops.gated_recurrence(x, input_gate, decay_gate,
                       {.layer = step.layer,
                        .state_begin = p.n_convolved_numbers(),
                        .input_bias = &w.recurrence.input_bias,
                        .decay_bias = &w.recurrence.decay_bias,
                        .rate = &w.recurrence.rate});
  ops.gate(y, x, p.act);
  step.multiply(Role::recurrence_out, a.h, y);
}

}  // namespace ruv
