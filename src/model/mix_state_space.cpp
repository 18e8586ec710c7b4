// A selective scan (model/state_space.h), alone or beside attention.
#include "model/layer_step.h"

namespace ruv {
namespace {

ScanSteps steps_of(const StateSpacePlan& p, const StateSpaceWeights& w) {
  ScanSteps steps{.bias = &w.step_bias, .scale = p.part_scales[4], .least = p.least_step};
  if (p.most_step != 0) steps.most = p.most_step;
  return steps;
}

// What both generations begin with. In: h. Out: z and x, convolved; of heads the steps, too.
void enter_scan(const LayerStep& step, View h, View z, View x, View steps) {
  const LayerPlan& p = step.plan();
  const LayerWeights& w = step.weights();
  const Ops::Product products[] = {product(z, w[Role::state_z]), product(x, w[Role::state_x]),
                                   product(steps, w[Role::state_steps])};
  step.ops.matmul_each(std::span(products).first(p.state_space.by_head() ? 3 : 2), h);
  step.adapt(Role::state_z, z, h);
  step.adapt(Role::state_x, x, h);
  if (p.state_space.by_head()) step.adapt(Role::state_steps, steps, h);
  step.ops.convolve(
      x, {.layer = step.layer, .taps = &w.conv_taps, .bias = &w.conv_bias, .act = p.scan_act});
}

// In: x, convolved. Out: its scan.
void scan_columns(const LayerStep& step, View out, View x) {
  const LayerPlan& p = step.plan();
  const StateSpacePlan& s = p.state_space;
  const LayerWeights& w = step.weights();
  const Activations::Views& a = step.a;
  const View low = cut(a.state_low, s.n_steps);
  const View b = cut(a.state_b, s.n_state);
  const View c = cut(a.state_c, s.n_state);
  const View steps = cut(a.decay, s.n_inner);
  const Ops::Product products[] = {product(low, w[Role::state_low]), product(b, w[Role::state_b]),
                                   product(c, w[Role::state_c])};
  step.ops.matmul_each(products, x);
  step.adapt(Role::state_low, low, x);
  step.adapt(Role::state_b, b, x);
  step.adapt(Role::state_c, c, x);
  if (s.norms_inputs) {
    const std::pair<View, const Vector*> norms[] = {
        {low, &w.state_space.low_norm}, {b, &w.state_space.b_norm}, {c, &w.state_space.c_norm}};
    for (const auto& [view, weight] : norms) {
      step.ops.norm(view, view, *weight, {}, {Norm::rms, s.input_norm_eps});
    }
  }
  step.multiply(Role::state_up, steps, low);
  step.ops.scan_columns(out, {x, steps, b, c},
                        {.layer = step.layer,
                         .state_begin = p.n_convolved_numbers(),
                         .rate = &w.state_space.rate,
                         .skip = &w.state_space.skip,
                         .steps = steps_of(s, w.state_space)});
}

// out = norm(out · silu(z)), by groups; z is lost.
void gate_heads(const LayerStep& step, View out, View z) {
  const StateSpacePlan& s = step.plan().state_space;
  Ops& ops = step.ops;
  const auto normalise = [&](View rows) {
    const View groups = rows.split(s.n_inner / s.n_groups);
    ops.norm(groups, groups, step.weights().inner_norm, {},
             {Norm::rms, step.plan().linear_norm_eps});
  };
  if (s.part_scales[0] != 1) ops.scale(z, s.part_scales[0]);
  if (s.norms_results && s.norms_first) normalise(out);
  ops.gate(z, out, Act::silu);
  if (s.norms_results && !s.norms_first) normalise(z);
}

}  // namespace

void mix_state_space(const LayerStep& step, View h) {
  const LayerPlan& p = step.plan();
  const StateSpacePlan& s = p.state_space;
  const Activations::Views& a = step.a;
  const View z = cut(a.attn_gate, s.n_inner);
  const View x = cut(a.conv, s.n_convolved());
  const View out = cut(a.attn, s.n_inner);
  if (s.in_scale != 1) step.ops.scale(h, s.in_scale);
  const View steps = cut(a.decay, s.by_head() ? s.n_steps : s.n_inner);
  enter_scan(step, h, z, x, steps);
  if (s.by_head()) {
    const StateSpaceWeights& w = step.weights().state_space;
    step.ops.scan_heads(out, {x, steps},
                        {.layer = step.layer,
                         .state_begin = p.n_convolved_numbers(),
                         .n_heads = s.n_steps,
                         .n_groups = s.n_groups,
                         .head_dim = s.head_dim(),
                         .n_state = s.n_state,
                         .rate = &w.rate,
                         .skip = &w.skip,
                         .steps = steps_of(s, w)});
    gate_heads(step, out, z);
  } else {
    scan_columns(step, out, x);
    step.ops.gate(z, out, Act::silu);
  }
  step.multiply(Role::state_out, h, z);
  if (s.out_scale != 1) step.ops.scale(h, s.out_scale);
}

}  // namespace ruv
