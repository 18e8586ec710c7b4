// One forward pass for every decoder family. Branches on what a block does, never on which model it
// is. Shapes: x (rows, n_embd) is the residual stream; q (rows, n_heads·head_dim).
#include "model/decoder.h"

#include <algorithm>
#include <numbers>

#include "model/adapted_ends.h"
#include "model/adapted_stream.h"
#include "model/draft_head.h"
#include "model/layer_step.h"
#include "model/output_dense.h"

namespace ruv {
namespace {

void apply(Ops& ops, View out, View x, const NormWeights& w, const LayerPlan& p) {
  ops.norm(out, x, w.weight, w.bias, {p.norm, p.norm_eps});
}

void norm_heads(Ops& ops, const LayerPlan& p, const LayerWeights& w, View q, View k) {
  const bool heads = p.qk_norm != QkNorm::rows;
  for (const auto& [view, role] : {std::pair(q, NormRole::q), std::pair(k, NormRole::k)}) {
    if (!p.has(role)) continue;
    const View rows = heads ? view.split(p.head_dim) : view;
    apply(ops, rows, rows, w[role], p);
  }
}

// What scores have added for distances; products of queries and keys are computed here.
DistanceScores distance_scores(Ops& ops, const Model& m, int64_t i, View q, View k,
                               const Activations::Views& a) {
  const LayerPlan& p = m.plans[static_cast<size_t>(i)];
  const LayerWeights& w = m.layers[static_cast<size_t>(i)];
  const RelativePlan& relative = p.relative;
  DistanceScores scores{.columns = relative.columns, .n_columns = relative.n_columns};
  if (relative.kind == Distances::numbers) scores.table = &w.distances;
  scores.scale = p.attn_scale;
  if (relative.by_query) {
    ops.matmul_heads(a.of_query, q, w.distance_keys);
    scores.of_query = a.of_query;
  }
  if (relative.by_key) {
    ops.matmul_heads(a.of_key, k, w.distance_queries);
    scores.of_key = a.of_key;
  }
  return scores;
}

// What matrices of low rank add to queries, keys and values of `in`. Uses a.attn.
void add_low_ranks(const LayerStep& step, View q, View k, View v, View in) {
  struct Pair {
    View view;
    Role low, high;
  };
  const View low = cut(step.a.low, step.plan().shared.attn_rank);
  for (const Pair& pair : {Pair{q, Role::q_low, Role::q_high}, Pair{k, Role::k_low, Role::k_high},
                           Pair{v, Role::v_low, Role::v_high}}) {
    const View more = cut(step.a.attn, pair.view.n_cols);
    step.multiply(pair.low, low, in);
    step.multiply(pair.high, more, low);
    step.ops.add(pair.view, more);
  }
}

// In: a.h, the normalised stream, or of a shared block a.wide, or a.joined where the plan says so.
// Out: a.h, what is added to the stream. `ropes` are the plans of this context length.
void attention(Ops& ops, const Model& m, int64_t i, std::span<const RopePlan> ropes,
               const Activations::Views& a, const Adapting& adapt) {
  const LayerPlan& p = m.plans[static_cast<size_t>(i)];
  const LayerWeights& w = m.layers[static_cast<size_t>(i)];
  const View q = cut(a.q, p.extent(LayerSize::q));
  const View k = cut(a.k, p.extent(LayerSize::k));
  const View v = cut(a.v, p.extent(LayerSize::v));
  const View out = cut(a.attn, p.extent(LayerSize::attn));
  const View gate = cut(a.attn_gate, p.extent(LayerSize::q));
  const bool keeps = p.makes_keys();
  const View in = p.reads_joined ? a.joined : p.shared.exists() ? a.wide : a.h;
  const std::pair<Role, View> made[] = {
      {Role::q, q}, {Role::k, k}, {Role::v, v}, {Role::attn_gate, gate}};
  std::array<Ops::Product, 4> products;
  size_t n_products = 0;
  for (const auto& [role, view] : made) {
    if (p.has(role)) products[n_products++] = product(view, w[role]);
  }
  ops.matmul_each(std::span(products).first(n_products), in);
  for (const auto& [role, view] : made) {
    if (p.has(role)) adapt(role, view, in);
  }
  if (p.shared.attn_rank > 0) add_low_ranks({ops, m, i, a, adapt}, q, k, v, in);
  if (keeps && p.values_are_keys) ops.copy(v, k);
  if (p.clamp_qkv > 0) {
    for (const View view : {q, k, v}) ops.clamp(view, p.clamp_qkv);
  }
  if (!p.rotates_first) norm_heads(ops, p, w, q, k);
  if (p.has(NormRole::v)) {
    apply(ops, v.split(p.value_dim), v.split(p.value_dim), w[NormRole::v], p);
  }
  if (p.rope >= 0) {
    ops.rope(q, p.head_dim, ropes[static_cast<size_t>(p.rope)]);
    if (keeps) ops.rope(k, p.head_dim, ropes[static_cast<size_t>(p.rope)]);
  }
  if (p.rotates_first) norm_heads(ops, p, w, q, k);
  if (p.query_scale.slope != 0) ops.scale_by_position(q, p.query_scale);
  AttendParams params = attend_params(p, w, i);
  if (keeps) ops.store_kv(params.layer, k, v, w.key_centre);
  if (p.relative.exists()) params.distances = distance_scores(ops, m, i, q, k, a);
  ops.attend(out, q, params);
  if (p.gates_attention) ops.gate(gate, out, Act::sigmoid);
  const View gated = p.gates_attention ? gate : out;
  if (p.has(NormRole::attn_sub)) apply(ops, gated, gated, w[NormRole::attn_sub], p);
  ops.matmul(a.h, gated, w[Role::o].weight, w[Role::o].bias);
  adapt(Role::o, a.h, gated);
}

// In and out as attention. Uses a.h2.
void short_conv(Ops& ops, const Model& m, int64_t i, const Activations::Views& a,
                const Adapting& adapt) {
  const LayerWeights& w = m.layers[static_cast<size_t>(i)];
  ops.matmul(a.conv, a.h, w[Role::conv_in].weight, w[Role::conv_in].bias);
  adapt(Role::conv_in, a.conv, a.h);
  ops.short_conv(a.h2, a.conv, {.layer = i, .taps = &w.conv_taps, .bias = &w.conv_bias});
  ops.matmul(a.h, a.h2, w[Role::conv_out].weight, w[Role::conv_out].bias);
  adapt(Role::conv_out, a.h, a.h2);
}

// Attention and a state space of the same rows, added. In and out as attention. Uses a.h2.
void attention_and_scan(Ops& ops, const Model& m, int64_t i, std::span<const RopePlan> ropes,
                        const Activations::Views& a, const Adapting& adapt) {
  const auto& [in, out] = m.plans[static_cast<size_t>(i)].attention_scales;
  ops.copy(a.h2, a.h);
  if (in != 1) ops.scale(a.h, in);
  attention(ops, m, i, ropes, a, adapt);
  if (out != 1) ops.scale(a.h, out);
  mix_state_space({ops, m, i, a, adapt}, a.h2);
  ops.add(a.h, a.h2);
}

// What lets the layer's tokens act on each other. In and out as attention.
void mix(Ops& ops, const Model& m, int64_t i, std::span<const RopePlan> ropes,
         const Activations::Views& a, const Adapting& adapt) {
  const LayerPlan& p = m.plans[static_cast<size_t>(i)];
  const LayerWeights& w = m.layers[static_cast<size_t>(i)];
  switch (p.mixer) {
    case Mixer::attention:
      p.state_space.exists() ? attention_and_scan(ops, m, i, ropes, a, adapt)
                             : attention(ops, m, i, ropes, a, adapt);
      break;
    case Mixer::state_space:
      mix_state_space({ops, m, i, a, adapt}, a.h);
      break;
    case Mixer::short_conv:
      short_conv(ops, m, i, a, adapt);
      break;
    case Mixer::delta_net:
      delta_net({ops, m, i, a, adapt});
      break;
    case Mixer::latent:
      latent_attention({ops, m, i, a, adapt}, ropes);
      break;
    case Mixer::gated_recurrence:
      mix_recurrence({ops, m, i, a, adapt});
      break;
    case Mixer::matrix_memory:
      mix_memory({ops, m, i, a, adapt});
      break;
    case Mixer::none:
      break;
    case Mixer::time_mix:
      mix_time({ops, m, i, a, adapt});
      break;
  }
  if (p.has(NormRole::attn_post)) apply(ops, a.h, a.h, w[NormRole::attn_post], p);
  if (p.residual_scale != 1) ops.scale(a.h, p.residual_scale);
}

// Computes the inner rows, a.gate, of what all rows of a.h2 share beside the experts.
void enter_shared(Ops& ops, const LayerPlan& p, const LayerWeights& w, const Activations::Views& a,
                  const Adapting& adapt) {
  const View gate = cut(a.gate, p.n_ff_shared);
  const View up = cut(a.up, p.n_ff_shared);
  if (!p.gates_experts) {
    ops.matmul(gate, a.h2, w[Role::shared_up].weight, w[Role::shared_up].bias);
    adapt(Role::shared_up, gate, a.h2);
    return ops.activate(gate, p.act);
  }
  const Ops::Product gate_up[] = {product(gate, w[Role::shared_gate]),
                                  product(up, w[Role::shared_up])};
  ops.matmul_each(gate_up, a.h2);
  adapt(Role::shared_gate, gate, a.h2);
  adapt(Role::shared_up, up, a.h2);
  ops.gate(gate, up, p.act);
}

// Adds to a.h what all rows of a.h2 share beside the experts. Uses the experts' memory.
void add_shared(Ops& ops, const LayerPlan& p, const LayerWeights& w, const Activations::Views& a,
                const Adapting& adapt) {
  const View gate = cut(a.gate, p.n_ff_shared);
  const View out{a.expert.rows.start, a.h.n_rows, p.n_embd};
  enter_shared(ops, p, w, a, adapt);
  ops.matmul(out, gate, w[Role::shared_down].weight, w[Role::shared_down].bias);
  adapt(Role::shared_down, out, gate);
  if (p.shared_router) {
    const View share = cut(a.router, 1);
    ops.matmul(share, a.h2, w[Role::shared_router].weight, w[Role::shared_router].bias);
    adapt(Role::shared_router, share, a.h2);
    ops.activate(share, Act::sigmoid);
    ops.scale_rows(out, share);
  }
  if (p.shared_share != 1) ops.scale(out, p.shared_share);
  ops.add(a.h, out);
}

// Chooses the experts of each row of x, to a.routes.
void route_rows(const LayerStep& step, View x) {
  const LayerPlan& p = step.plan();
  const LayerWeights& w = step.weights();
  const View logits = cut(step.a.router, p.n_experts);
  step.multiply(Role::router, logits, x);
  RouteParams params = p.route;
  if (!w.expert_scales.empty()) params.expert_scales = &w.expert_scales;
  step.ops.route(cut(step.a.routes, 2 * p.n_experts_used), logits, w.choice_bias, params);
}

// out: what the experts of x's rows give, by a.routes.
void run_experts(const LayerStep& step, View out, View x) {
  const LayerPlan& p = step.plan();
  const LayerWeights& w = step.weights();
  step.ops.experts(out, x, cut(step.a.routes, 2 * p.n_experts_used),
                   {.gate = w[Role::expert_gate].experts,
                    .up = w[Role::expert_up].experts,
                    .down = w[Role::expert_down].experts,
                    .act = p.act,
                    .scratch = &step.a.expert,
                    .gate_bias = w[Role::expert_gate].expert_biases,
                    .up_bias = w[Role::expert_up].expert_biases,
                    .down_bias = w[Role::expert_down].expert_biases,
                    .limits = p.gate_limits,
                    .weighs_inputs = p.weighs_inputs,
                    .pager = step.model.pager.get(),
                    .adapters = step.adapt.of_experts()});
}

// In and out as dense_or_gated.
void mix_experts(Ops& ops, const Model& m, int64_t i, const Activations::Views& a,
                 const Adapting& adapt) {
  const LayerPlan& p = m.plans[static_cast<size_t>(i)];
  const LayerWeights& w = m.layers[static_cast<size_t>(i)];
  const LayerStep step = {ops, m, i, a, adapt};
  route_rows(step, a.h2);
  if (p.n_latent > 0) {
    const View in = cut(a.expert_in, p.n_latent);
    const View out = cut(a.expert_out, p.n_latent);
    step.multiply(Role::expert_low, in, a.h2);
    run_experts(step, out, in);
    step.multiply(Role::expert_high, a.h, out);
  } else {
    run_experts(step, a.h, a.h2);
  }
  if (p.n_ff_shared > 0) add_shared(ops, p, w, a, adapt);
}

// The same for a feed-forward's gate and up rows of a.h2.
void add_low_ranks(const LayerStep& step, View gate, View up) {
  const View low = cut(step.a.low, step.plan().shared.ff_rank);
  const View more = cut(step.a.adapted, gate.n_cols);
  step.multiply(Role::ff_low, low, step.a.h2);
  for (const auto& [role, view] :
       {std::pair(Role::gate_high, gate), std::pair(Role::up_high, up)}) {
    step.multiply(role, more, low);
    step.ops.add(view, more);
  }
}

// In: a.h2, the normalised stream. Out: a.h.
void dense_or_gated(Ops& ops, const Model& m, int64_t i, const Activations::Views& a,
                    const Adapting& adapt) {
  const LayerPlan& p = m.plans[static_cast<size_t>(i)];
  const LayerWeights& w = m.layers[static_cast<size_t>(i)];
  const View gate = cut(a.gate, p.n_ff);
  const View up = cut(a.up, p.n_ff);
  if (p.feed_forward == FeedForward::gated || p.feed_forward == FeedForward::gated_and_experts) {
    const Ops::Product gate_up[] = {product(gate, w[Role::gate]), product(up, w[Role::up])};
    ops.matmul_each(gate_up, a.h2);
    adapt(Role::gate, gate, a.h2);
    adapt(Role::up, up, a.h2);
    if (p.shared.ff_rank > 0) add_low_ranks({ops, m, i, a, adapt}, gate, up);
    if (p.ff_scales[0] != 1) ops.scale(gate, p.ff_scales[0]);
    if (p.gate_cut) ops.cut_below(gate, *p.gate_cut);
    ops.gate(gate, up, p.act);
  } else {
    ops.matmul(gate, a.h2, w[Role::up].weight, w[Role::up].bias);
    adapt(Role::up, gate, a.h2);
    p.xielu ? ops.xielu(gate, *p.xielu) : ops.activate(gate, p.act);
  }
  if (p.has(NormRole::ffn_sub)) apply(ops, gate, gate, w[NormRole::ffn_sub], p);
  ops.matmul(a.h, gate, w[Role::down].weight, w[Role::down].bias);
  adapt(Role::down, a.h, gate);
  if (p.ff_scales[1] != 1) ops.scale(a.h, p.ff_scales[1]);
}

// The sum of a gated feed-forward and of experts, each normalised. The experts and their router
// read the stream through norms of their own. In and out as dense_or_gated.
void dense_and_experts(Ops& ops, const Model& m, int64_t i, const Activations::Views& a,
                       const Adapting& adapt) {
  const LayerPlan& p = m.plans[static_cast<size_t>(i)];
  const LayerWeights& w = m.layers[static_cast<size_t>(i)];
  dense_or_gated(ops, m, i, a, adapt);
  apply(ops, a.h, a.h, w[NormRole::dense_post], p);
  apply(ops, a.h2, a.x, w[NormRole::router], p);
  const LayerStep step = {ops, m, i, a, adapt};
  route_rows(step, a.h2);
  apply(ops, a.h2, a.x, w[NormRole::experts], p);
  run_experts(step, a.beside, a.h2);
  apply(ops, a.beside, a.beside, w[NormRole::experts_post], p);
  ops.add(a.h, a.beside);
}

// In and out as dense_or_gated.
void feed_forward(Ops& ops, const Model& m, int64_t i, const Activations::Views& a,
                  const Adapting& adapt) {
  const LayerPlan& p = m.plans[static_cast<size_t>(i)];
  const LayerWeights& w = m.layers[static_cast<size_t>(i)];
  if (p.feed_forward == FeedForward::experts) {
    mix_experts(ops, m, i, a, adapt);
  } else if (p.feed_forward == FeedForward::gated_and_experts) {
    dense_and_experts(ops, m, i, a, adapt);
  } else if (p.feed_forward == FeedForward::channel_mix) {
    mix_channels({ops, m, i, a, adapt});
  } else {
    dense_or_gated(ops, m, i, a, adapt);
  }
  if (p.has(NormRole::ffn_post)) apply(ops, a.h, a.h, w[NormRole::ffn_post], p);
  if (p.residual_scale != 1) ops.scale(a.h, p.residual_scale);
}

// The embeddings of the batch's rows. Uses a.h2 for those that are narrower.
void embed(Ops& ops, const Model& m, const Batch& batch, View to, const Activations::Views& a) {
  const bool widens = !m.embd_in.weight.empty();
  const View x = widens ? cut(a.h2, m.h.n_embd_in) : to;
  ops.embed(x, m.token_embd, batch.tokens, m.h.embed_scale);
  if (batch.has_adapters) adapt_embeddings({ops, m, batch, a.low_rank}, x);
  for (const EmbeddedRows& e : batch.embedded) {
    ops.copy(x.rows(e.row_begin, e.rows.n_rows), e.rows);
  }
  if (!m.token_types.empty()) ops.add_rows(x, m.token_types, batch.token_types);
  if (!m.position_embd.empty()) ops.add_embedding(x, m.position_embd, batch.positions);
  if (m.family->block.embd_norm) {
    ops.norm(x, x, m.embd_norm.weight, m.embd_norm.bias, {m.family->block.norm, m.h.norm_eps});
  }
  if (widens) ops.matmul(to, x, m.embd_in.weight, m.embd_in.bias);
}

// `x` after the last norm, if there is one, of these rows.
View hidden_of(Ops& ops, const Model& m, std::span<const int32_t> rows, View x, View to) {
  const View hidden = to.rows(0, std::ssize(rows));
  ops.gather(hidden, x, rows);
  if (m.family->last_norm.empty()) return hidden;
  const float eps = m.family->last_norm_eps > 0 ? m.family->last_norm_eps : m.h.norm_eps;
  ops.norm(hidden, hidden, m.output_norm.weight, m.output_norm.bias, {m.family->block.norm, eps});
  return hidden;
}

void finish_logits(Ops& ops, const Model& m, View logits) {
  if (m.h.logit_scale != 1) ops.scale(logits, m.h.logit_scale);
  if (m.h.final_softcap > 0) ops.softcap(logits, m.h.final_softcap);
}

StepOutput outputs(Ops& ops, const Model& m, const Batch& batch, const Activations::Views& a) {
  StepOutput out{a.logits, a.h2.rows(0, 0)};
  if (batch.n_logits() > 0) {
    const View last = hidden_of(ops, m, batch.logit_rows, a.x, a.h);
    const bool passes = m.family->block.output_dense;
    const View x = passes ? pass_output_dense(ops, m, last, a.h2) : last;
    ops.matmul(a.logits, x, m.output, m.output_bias);
    if (batch.has_adapters) adapt_logits({ops, m, batch, a.low_rank}, a.logits, x);
    finish_logits(ops, m, a.logits);
  }
  if (batch.n_hidden() > 0) out.hidden = hidden_of(ops, m, batch.hidden_rows, a.x, a.h2);
  return out;
}

// What a half of a block reads of the stream: normalised, or as it is.
void enter(Ops& ops, View out, View x, NormRole role, const LayerPlan& p, const LayerWeights& w) {
  if (p.has(role)) {
    apply(ops, out, x, w[role], p);
  } else {
    ops.copy(out, x);
  }
}

// A half of a layer's block.
struct Half {
  const LayerPlan& plan;
  const LayerWeights& weights;
  NormRole norm;
};

// x += y, and then the same.
void add_and_enter(Ops& ops, View out, View x, View y, const Half& half) {
  if (half.plan.has(half.norm)) {
    const NormWeights& norm = half.weights[half.norm];
    return ops.add_norm(x, y, out, norm.weight, norm.bias, {half.plan.norm, half.plan.norm_eps});
  }
  ops.add(x, y);
  ops.copy(out, x);
}

// x += y, which is then normalised where the plan says so.
void add_to_stream(Ops& ops, View x, View y, NormRole sum, const LayerPlan& p,
                   const LayerWeights& w) {
  ops.add(x, y);
  if (p.has(sum)) apply(ops, x, x, w[sum], p);
}

// A block that shares weights, and the scan that reads the stream and what the block gives. In:
// a.wide. Out: a.h, what is added to the stream. Uses a.h2.
void block_and_scan(Ops& ops, const Model& m, int64_t i, std::span<const RopePlan> ropes,
                    const Activations::Views& a, const Adapting& adapt) {
  const LayerStep step = {ops, m, i, a, adapt};
  const LayerPlan& p = step.plan();
  attention(ops, m, i, ropes, a, adapt);
  apply(ops, a.h2, a.h, step.weights()[NormRole::ffn], p);
  dense_or_gated(ops, m, i, a, adapt);
  step.multiply(Role::block_out, a.h2, a.h);
  ops.copy(a.h, a.x);
  ops.add(a.h, a.h2);
  apply(ops, a.h, a.h, step.weights()[NormRole::scan], p);
  mix_state_space(step, a.h);
}

// In: a.h, what attention reads of the stream a.x. Out: a.h, what is still to be added to it.
void layer(Ops& ops, const Model& m, int64_t i, std::span<const RopePlan> ropes,
           const Activations::Views& a, const Adapting& adapt) {
  const LayerPlan& p = m.plans[static_cast<size_t>(i)];
  const LayerWeights& w = m.layers[static_cast<size_t>(i)];
  if (p.shared.exists()) return block_and_scan(ops, m, i, ropes, a, adapt);
  if (p.feed_forward == FeedForward::none) return mix(ops, m, i, ropes, a, adapt);
  if (p.mixer == Mixer::none) {
    ops.copy(a.h2, a.h);
    return feed_forward(ops, m, i, a, adapt);
  }
  if (p.parallel) {
    enter(ops, a.h2, p.has(NormRole::ffn) ? a.x : a.h, NormRole::ffn, p, w);
    mix(ops, m, i, ropes, a, adapt);
    ops.add(a.x, a.h);
  } else {
    if (p.streams.exists()) make_laurel({ops, m, i, a, adapt});
    mix(ops, m, i, ropes, a, adapt);
    if (p.side == Side::answer) {
      add_and_enter(ops, a.h, a.x, a.h, {p, w, NormRole::cross});
      attend_to_source({ops, m, i, a, adapt});
    }
    if (p.streams.exists()) {
      ops.add(a.x, a.h);
      ops.add(a.x, a.laurel);
      ops.scale(a.x, 1.0F / std::numbers::sqrt2_v<float>);
      enter(ops, a.h2, a.x, NormRole::ffn, p, w);
    } else if (p.has(NormRole::attn_sum)) {
      const bool again = p.has(NormRole::attn_sum_again);
      if (again) ops.copy(a.h2, a.x);
      add_to_stream(ops, a.x, a.h, NormRole::attn_sum, p, w);
      if (again) add_to_stream(ops, a.x, a.h2, NormRole::attn_sum_again, p, w);
      enter(ops, a.h2, a.x, NormRole::ffn, p, w);
    } else {
      add_and_enter(ops, a.h2, a.x, a.h, {p, w, NormRole::ffn});
    }
  }
  feed_forward(ops, m, i, a, adapt);
}

// What the first half of a layer reads: a.h, or a.wide before a shared block.
void enter_layer(const LayerStep& step) {
  const LayerPlan& p = step.plan();
  const Activations::Views& a = step.a;
  if (p.streams.exists()) predict_streams(step);
  if (!p.shared.exists()) return enter(step.ops, a.h, a.x, NormRole::attn, p, step.weights());
  step.ops.join(a.wide, a.x, a.first);
  apply(step.ops, a.wide, a.wide, step.weights()[NormRole::attn], p);
}

// What follows a layer's block on the stream a.x. In: a.h, what is still to be added to it.
void leave_layer(const LayerStep& step) {
  const LayerPlan& p = step.plan();
  const LayerWeights& w = step.weights();
  const Activations::Views& a = step.a;
  add_to_stream(step.ops, a.x, a.h, NormRole::ffn_sum, p, w);
  if (p.streams.exists()) return correct_streams(step);
  if (p.n_input > 0) {
    make_layer_input(step, a.x);
    step.ops.add(a.x, a.h);
  }
  if (w.stream_scale != 1) step.ops.scale(a.x, w.stream_scale);
  if (p.halves) step.ops.scale(a.x, 0.5F);
}

// Whether nothing is between adding a layer's last half and what the next one reads.
bool meets(const LayerPlan& p, const LayerPlan& next) {
  const bool changes = p.halves || p.n_input > 0 || p.scales_stream || p.has(NormRole::ffn_sum);
  return !changes && !next.streams.exists() && !next.shared.exists();
}

// Layer i of these begins: expects what all rows of the one after it are multiplied by. After the
// last one follow the output and, in the next step, the first.
void expect_next(Ops& ops, const Model& m, Range layers, int64_t i) {
  const bool is_last = i + 1 == layers.end;
  std::vector<const Weight*> weights;
  if (is_last) weights.push_back(&m.output);
  const auto next = static_cast<size_t>(is_last ? layers.begin : i + 1);
  for (const Linear& linear : m.layers[next].linears) weights.push_back(&linear.weight);
  ops.expect(weights, *m.pager);
}

// What the layers of a pass have in common.
struct LayerPass {
  Ops& ops;
  const Model& model;
  const Batch& batch;
  std::span<const RopePlan> ropes;
  const StopFlag* stop;
};

// Keeps the stream after n_layers layers where the model's head reads it there.
void keep_for_head(Ops& ops, const Model& m, int64_t n_layers, const Activations::Views& a) {
  if (m.head == nullptr) return;
  for (size_t i = 0; i < kTaps; ++i) {
    if (m.head->taps[i] == n_layers) ops.copy(a.taps[i], a.x);
  }
}

// Computes layers [layers.begin, layers.end) of the stream a.x. False: the step is not wanted.
bool run_layers(const LayerPass& pass, Range layers, const Activations::Views& a) {
  const auto& [ops, m, batch, ropes, stop] = pass;
  const auto adapt_of = [&pass, &a](int64_t i) {
    return Adapting{pass.ops, pass.batch, a.low_rank, i};
  };
  if (layers.begin < layers.end) {
    enter_layer({ops, m, layers.begin, a, adapt_of(layers.begin)});
  }
  for (int64_t i = layers.begin; i < layers.end; ++i) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) return false;
    const auto next = static_cast<size_t>(i + 1);
    if (m.pager != nullptr) expect_next(ops, m, layers, i);
    const Adapting adapt = adapt_of(i);
    layer(ops, m, i, ropes, a, adapt);
    const bool is_last = i + 1 == layers.end;
    const bool steers = has_direction(batch, i);
    if (is_last || steers || !meets(m.plans[next - 1], m.plans[next])) {
      leave_layer({ops, m, i, a, adapt});
      if (steers) add_directions(ops, batch, i, a.x);
      if (!is_last) enter_layer({ops, m, i + 1, a, adapt_of(i + 1)});
    } else {
      add_and_enter(ops, a.h, a.x, a.h, {m.plans[next], m.layers[next], NormRole::attn});
    }
    keep_for_head(ops, m, i + 1, a);
  }
  return true;
}

// The views of rows for a stream of this width.
Activations::Views of_width(Activations::Views a, int64_t n_embd) {
  for (View* const view : {&a.x, &a.h, &a.h2}) view->n_cols = n_embd;
  return a;
}

// The encoder's pass: what the decoder reads of the source's rows is in the cache afterwards.
bool encode_source(const LayerPass& pass, const Activations::Views& a) {
  const auto& [ops, m, source, ropes, stop] = pass;
  const HParams& h = m.h.of_encoder();
  ops.begin(source, ropes);
  if (m.source_embd.empty()) {
    embed(ops, m, source, a.x, a);
  } else {
    ops.embed(a.x, m.source_embd, source.tokens, h.embed_scale);
  }
  if (!run_layers(pass, {0, m.h.n_encoder_layers}, a)) return false;
  const NormWeights& norm = m.source_norm;
  ops.norm(a.h, a.x, norm.weight, norm.bias, {m.family->block.norm, h.norm_eps});
  store_source(ops, m, source, a);
  return true;
}

// The rows that a step of the head reads, of the step before.
struct HeadRows {
  std::span<const int32_t> from;
  int64_t n_before = 0;

  explicit HeadRows(std::span<const int32_t> rows)
      : from(rows), n_before(*std::ranges::max_element(rows) + 1) {}
};

// What a head with places between layers makes of the stream there: a.x. Uses a.h and a.h2.
void read_taps(Ops& ops, const DraftHead& head, const HeadRows& rows,
               const Activations& activations, const Activations::Views& a) {
  const auto taps = activations.rows(rows.n_before, 0).taps;
  ops.gather(a.h, taps[0], rows.from);
  ops.gather(a.h2, taps[1], rows.from);
  ops.join(a.joined, a.h, a.h2);
  ops.gather(a.h, taps[2], rows.from);
  ops.join(a.tapped, a.joined, a.h);
  ops.matmul(a.x, a.tapped, head.join, {});
}

// The stream of a head with places between layers, a.x, and what its attention reads, a.joined.
void enter_tapping_head(Ops& ops, const Model& m, const HeadStep& step,
                        const Activations& activations, const Activations::Views& a) {
  const DraftHead& head = *m.head;
  const LayerPlan& plan = m.plans.back();
  const HeadRows rows(step.from);
  if (step.goes_on) {
    ops.gather(a.h2, activations.rows(rows.n_before, 0).x, rows.from);
    ops.copy(a.x, a.h2);
  } else {
    read_taps(ops, head, rows, activations, a);
  }
  apply(ops, a.h2, a.x, head.hidden_norm, plan);
  if (head.adds_to_normed) ops.copy(a.x, a.h2);
  ops.embed(a.h, head.token_embd.empty() ? m.token_embd : head.token_embd, step.batch.tokens, 1);
  apply(ops, a.h, a.h, head.embd_norm, plan);
  ops.join(a.joined, a.h, a.h2);
}

// The stream of a head that reads the last state, a.x, and what its layer reads of it, a.h.
void enter_head(Ops& ops, const Model& m, const HeadStep& step, const Activations& activations,
                const Activations::Views& a) {
  const DraftHead& head = *m.head;
  const LayerPlan& plan = m.plans.back();
  const HeadRows rows(step.from);
  const View before = activations.rows(rows.n_before, 0).x;
  if (step.goes_on) {
    ops.gather(a.h2, before, rows.from);
    apply(ops, a.h2, a.h2, head.norm, plan);
  } else {
    hidden_of(ops, m, rows.from, before, a.h2);
  }
  apply(ops, a.h2, a.h2, head.hidden_norm, plan);
  ops.embed(a.h, head.token_embd.empty() ? m.token_embd : head.token_embd, step.batch.tokens,
            m.h.embed_scale);
  apply(ops, a.h, a.h, head.embd_norm, plan);
  ops.join(a.joined, a.h, a.h2);
  ops.matmul(a.x, a.joined, head.join, {});
  enter(ops, a.h, a.x, NormRole::attn, plan, m.layers.back());
}

// The head's logits of these rows, in the columns of its own outputs where it has others than the
// model.
View head_logits(Ops& ops, const Model& m, std::span<const int32_t> rows,
                 const Activations::Views& a) {
  const DraftHead& head = *m.head;
  const View last = a.h.rows(0, std::ssize(rows));
  ops.gather(last, a.x, rows);
  apply(ops, last, last, head.norm, m.plans.back());
  if (head.source != nullptr && !head.output.empty()) {
    const View logits = cut(a.logits, head.output.n_out);
    ops.matmul(logits, last, head.output, {});
    return logits;
  }
  ops.matmul(a.logits, last, head.output.empty() ? m.output : head.output, m.output_bias);
  finish_logits(ops, m, a.logits);
  return a.logits;
}

// The logits of one of several heads that read the same state.
View decode_parallel_head(Ops& ops, const Model& m, const HeadStep& step,
                          const Activations& activations) {
  const DraftHead& head = *m.head;
  const ParallelHead& one = head.parallel[static_cast<size_t>(step.ahead)];
  const HeadRows rows(step.from);
  const int64_t n = std::ssize(rows.from);
  const Activations::Views a = of_width(activations.rows(n, n), m.h.n_embd);
  const View before = of_width(activations.rows(rows.n_before, 0), m.h.n_embd).x;
  hidden_of(ops, m, rows.from, before, a.h);
  for (const Linear& block : one.blocks) {
    ops.matmul(a.h2, a.h, block.weight, block.bias);
    ops.activate(a.h2, Act::silu);
    ops.add(a.h, a.h2);
  }
  // The model's scale and cap do not change which logit is the greatest.
  const bool has_own = !one.output.empty();
  const View logits = has_own ? cut(a.logits, one.output.n_out) : a.logits;
  ops.matmul(logits, a.h, has_own ? one.output : m.output, has_own ? Vector() : m.output_bias);
  return logits;
}

}  // namespace

std::optional<StepOutput> decode(Ops& ops, const Model& m, const Batch& batch,
                                 const Activations& activations, int64_t n_ctx,
                                 const StopFlag* stop) {
  const std::span<const RopePlan> ropes = m.rope.for_context(n_ctx);
  const bool has_sides = m.h.reads_source();
  const BatchSides sides = has_sides ? sides_of(batch) : BatchSides();
  const Batch& rows = has_sides ? sides.answer : batch;
  if (sides.source.n_rows() > 0) {
    const Activations::Views a =
        of_width(activations.rows(sides.source.n_rows(), 0), m.h.of_encoder().n_embd);
    if (!encode_source({ops, m, sides.source, ropes, stop}, a)) return std::nullopt;
  }
  const Activations::Views a =
      of_width(activations.rows(rows.n_rows(), rows.n_logits()), m.h.n_embd);
  if (rows.n_rows() == 0) return StepOutput{a.logits, a.h2};
  ops.begin(rows, ropes);
  embed(ops, m, rows, a.x, a);
  if (m.h.n_layer_input > 0) make_layer_inputs(ops, m, rows, a);
  if (m.h.streams.exists()) make_streams(ops, m, a);
  if (m.h.n_shared_blocks > 0) ops.copy(a.first, a.x);
  const Range layers = {m.h.n_encoder_layers, m.h.n_layers};
  if (!run_layers({ops, m, rows, ropes, stop}, layers, a)) return std::nullopt;
  if (m.h.streams.exists()) merge_streams(ops, m, a);
  return outputs(ops, m, rows, a);
}

// The head's layer reads a stream of its own, so that nothing of the model's is kept but a.x and
// what keep_for_head() keeps.
View decode_head(Ops& ops, const Model& m, const HeadStep& step, const Activations& activations,
                 int64_t n_ctx) {
  if (!m.head->has_layer()) return decode_parallel_head(ops, m, step, activations);
  const Batch& batch = step.batch;
  const Activations::Views a = activations.rows(batch.n_rows(), batch.n_logits());
  const std::span<const RopePlan> ropes = m.rope.for_context(n_ctx);
  ops.begin(batch, ropes);
  const bool taps = m.head->reads_taps();
  taps ? enter_tapping_head(ops, m, step, activations, a)
       : enter_head(ops, m, step, activations, a);
  layer(ops, m, m.h.n_layers, ropes, a, {ops, batch, a.low_rank, m.h.n_layers});
  add_to_stream(ops, a.x, a.h, NormRole::ffn_sum, m.plans.back(), m.layers.back());
  return batch.n_logits() == 0 ? a.logits : head_logits(ops, m, batch.logit_rows, a);
}

}  // namespace ruv
