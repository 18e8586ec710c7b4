// LayerStep: what the parts of a layer need to compute a step of it. A mixer with a file of its own
// is a function of it, as attention is.
#pragma once

#include "model/adapter.h"
#include "model/decoder.h"

namespace ruv {

// The start of each row of a view that is as wide as the widest layer needs.
inline View cut(View view, int64_t n_cols) { return {view.start, view.n_rows, n_cols}; }

inline Ops::Product product(View out, const Linear& linear) {
  return {out, &linear.weight, &linear.bias};
}

// What the batch's adapters add to the products of one layer.
struct Adapting {
  Ops& ops;
  const Batch& batch;
  const LowRankScratch& scratch;
  int64_t layer;

  // After `out` = W · x of this role.
  void operator()(Role role, View out, View x) const {
    if (batch.has_adapters) ops.add_low_rank(out, x, batch, product_of(layer, role), scratch);
  }
  ExpertAdapters of_experts() const {
    if (!batch.has_adapters) return {};
    return {&batch, &scratch, product_of(layer, Role::expert_gate),
            product_of(layer, Role::expert_up), product_of(layer, Role::expert_down)};
  }
};

struct LayerStep {
  Ops& ops;
  const Model& model;
  int64_t layer;
  const Activations::Views& a;
  const Adapting& adapt;

  const LayerPlan& plan() const { return model.plans[static_cast<size_t>(layer)]; }
  const LayerWeights& weights() const { return model.layers[static_cast<size_t>(layer)]; }
  // out = W · x of the role, with what adapters add.
  void multiply(Role role, View out, View x) const {
    ops.matmul(out, x, weights()[role].weight, weights()[role].bias);
    adapt(role, out, x);
  }
};

inline AttendParams attend_params(const LayerPlan& p, const LayerWeights& w, int64_t layer) {
  return {.layer = p.kv_layer >= 0 ? p.kv_layer : layer,
          .n_heads = p.n_heads,
          .n_kv_heads = p.n_kv_heads,
          .key_dim = p.head_dim,
          .value_dim = p.value_dim,
          .scale = p.attn_scale,
          .softcap = p.attn_softcap,
          .window = p.window,
          .chunked = p.chunked,
          .both_ways = p.both_ways,
          .sinks = p.has_sinks ? &w.sinks : nullptr,
          .alibi = {p.alibi_slopes, p.alibi_in_bf16, p.attn_scale}};
}

// A step's rows by the side that computes them. Rows keep their order, and with it the outputs that
// are wanted of them.
struct BatchSides {
  Batch source, answer;
};
BatchSides sides_of(const Batch& batch);
// Stores the keys and values of the source's rows in every layer of the decoder. In: a.h, the
// encoder's last states, normalised.
void store_source(Ops& ops, const Model& m, const Batch& source, const Activations::Views& a);
// Attention to the source. In: a.h, the normalised stream. Out: a.h, what is added to the stream.
void attend_to_source(const LayerStep& step);

// Latent attention (model/latent_plan.h). In and out as below. `ropes` are the plans of this
// context length.
void latent_attention(const LayerStep& step, std::span<const RopePlan> ropes);
// What an index of the layer's own (model/index_plan.h) chooses, to a.chosen. In: a.h, the
// normalised stream, and q_low, the row that queries are made of; both stay as they are.
void choose_keys(const LayerStep& step, View q_low, std::span<const RopePlan> ropes);
// Linear attention by the gated delta rule. In: a.h, the normalised stream. Out: a.h, what is added
// to the stream.
void delta_net(const LayerStep& step);

// A gated linear recurrence, as above.
void mix_recurrence(const LayerStep& step);
// A matrix memory, as above.
void mix_memory(const LayerStep& step);
// A state space of h, which its result takes the place of.
void mix_state_space(const LayerStep& step, View h);
// Time mix, as above; and channel mix: of a.h2, the normalised stream, to a.h.
void mix_time(const LayerStep& step);
void mix_channels(const LayerStep& step);

// Layers' own inputs (model/layer_input.cpp): what they are, of the stream a.x and the batch's
// tokens, to a.layer_inputs; and what one adds at the end of its layer, made of x, to a.h.
void make_layer_inputs(Ops& ops, const Model& m, const Batch& batch, const Activations::Views& a);
void make_layer_input(const LayerStep& step, View x);

// Streams (model/stream_plan.h). All of them of a.x, the first; what is predicted of them, and
// a.x, of that the active one; they corrected by a.x, what the layer made of that; and a.x merged
// of them, at last.
void make_streams(Ops& ops, const Model& m, const Activations::Views& a);
void predict_streams(const LayerStep& step);
void correct_streams(const LayerStep& step);
void merge_streams(Ops& ops, const Model& m, const Activations::Views& a);
// a.laurel: a.h and what matrices of low rank make of it.
void make_laurel(const LayerStep& step);

}  // namespace ruv
