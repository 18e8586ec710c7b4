// One block of memory for all activations of a step.
#include "model/decoder.h"

#include <algorithm>

namespace ruv {
namespace {

// Rows that an adapter's products are computed for at a time: enough for a matmul to use its
// weights many times and for all threads, few enough that the widest result stays in the cache.
constexpr int64_t kLowRankRows = 64;

// The most numbers that a row of any layer has.
int64_t widest(const Model& model, LayerSize extent) {
  int64_t most = 0;
  for (const LayerPlan& plan : model.plans) most = std::max(most, plan.extent(extent));
  return most;
}

// The same of the inner vectors of all feed-forwards.
int64_t widest_inner(const Model& model) {
  return std::max({widest(model, LayerSize::ff), widest(model, LayerSize::shared_ff),
                   widest(model, LayerSize::expert_ff), widest(model, LayerSize::input)});
}

// The most numbers that a product of any layer gives for a row, and that one reads of it.
int64_t widest_product(const Model& model) {
  int64_t most = 0;
  for (const RoleRow& row : role_rows()) most = std::max(most, widest(model, row.n_out));
  return most;
}
int64_t widest_factor(const Model& model) {
  int64_t most = 0;
  for (const RoleRow& row : role_rows()) most = std::max(most, widest(model, row.n_in));
  return most;
}

// The width of the stream, of the wider side where there are two.
int64_t stream_cols(const HParams& h) { return std::max(h.n_embd, h.of_encoder().n_embd); }

// The narrow rows of a time mix: of pairs of matrices, and those that shares are made of.
struct NarrowRows {
  int64_t pairs = 0, shares = 0;
};
NarrowRows narrow_rows(const Model& model) {
  NarrowRows most;
  for (const LayerWeights& layer : model.layers) {
    const TimeMixWeights& w = layer.time_mix;
    for (const LowRankPair* pair : {&w.decays, &w.rates, &w.gates, &w.value_shares}) {
      most.pairs = std::max(most.pairs, pair->down.weight.n_out);
    }
    most.shares = std::max(most.shares, w.shares_down.weight.n_out);
  }
  return most;
}

// A view, and the rows and columns that it needs.
struct ViewPart {
  View* view;
  int64_t n_rows, n_cols;
};

// What streams beside each other need.
void add_stream_parts(const HParams& h, int64_t max_rows, Activations::Views& views,
                      std::vector<ViewPart>& parts) {
  const int64_t n = h.streams.n;
  parts.push_back({&views.streams, max_rows, n * h.n_embd});
  parts.push_back({&views.predicted, max_rows, n * h.n_embd});
  parts.push_back({&views.stream_router, max_rows, n});
  parts.push_back({&views.stream_factors, max_rows, n * n});
  parts.push_back({&views.laurel, n > 0 ? max_rows : 0, h.n_embd});
}

// What blocks that share weights need.
void add_block_parts(const HParams& h, int64_t max_rows, int64_t ff_cols, Activations::Views& views,
                     std::vector<ViewPart>& parts) {
  const int64_t n_rows = h.n_shared_blocks > 0 ? max_rows : 0;
  parts.push_back({&views.first, n_rows, h.n_embd});
  parts.push_back({&views.wide, n_rows, 2 * h.n_embd});
  parts.push_back({&views.adapted, n_rows, ff_cols});
}

// What latent attention and its indexes need. The values of its heads take the place of its
// queries.
void add_latent_parts(const Model& model, int64_t max_rows, Activations::Views& views,
                      std::vector<ViewPart>& parts) {
  const int64_t q_plain_cols = widest(model, LayerSize::q_plain);
  const int64_t heads_cols =
      q_plain_cols > 0 ? std::max(q_plain_cols, widest(model, LayerSize::o)) : 0;
  parts.push_back({&views.q_low, max_rows, widest(model, LayerSize::q_rank)});
  parts.push_back({&views.heads, max_rows, heads_cols});
  parts.push_back({&views.q_rope, max_rows, widest(model, LayerSize::q_rope)});
  parts.push_back({&views.k_rope, max_rows, widest(model, LayerSize::rope)});
  parts.push_back({&views.index_q, max_rows, widest(model, LayerSize::index_q)});
  parts.push_back({&views.index_k, max_rows, widest(model, LayerSize::index_k)});
  parts.push_back({&views.index_weights, max_rows, widest(model, LayerSize::index_heads)});
  parts.push_back({&views.chosen, max_rows, model.h.index.n_chosen});
}

// What a drafting head needs, and one that reads the stream between layers.
void add_head_parts(const Model& model, int64_t max_rows, Activations::Views& views,
                    std::vector<ViewPart>& parts) {
  const bool has_layer = model.head != nullptr && model.head->has_layer();
  parts.push_back({&views.joined, has_layer ? max_rows : 0, 2 * model.h.n_embd});
  const bool has_taps = model.head != nullptr && model.head->reads_taps();
  const int64_t n_rows = has_taps ? max_rows : 0;
  for (View& tap : views.taps) parts.push_back({&tap, n_rows, model.h.n_embd});
  parts.push_back({&views.tapped, n_rows, int64_t{kTaps} * model.h.n_embd});
}

}  // namespace

Result<Activations> Activations::create(const Model& model, int64_t max_rows, int64_t max_outputs,
                                        int64_t max_rank) {
  const HParams& h = model.h;
  const NarrowRows narrow = narrow_rows(model);
  Activations a;
  const int64_t q_cols = widest(model, LayerSize::q);
  const int64_t inner_cols = widest(model, LayerSize::inner);
  const int64_t gate_cols = model.family->block.gated_attention ? q_cols : 0;
  const int64_t head_cols = widest(model, LayerSize::value_heads);
  const int64_t low_cols = std::max(
      {narrow.pairs, widest(model, LayerSize::delta_low), widest(model, LayerSize::beside_rank),
       widest(model, LayerSize::attn_rank), widest(model, LayerSize::ff_rank)});
  const StateSpacePlan& scan = h.state_space;
  const bool by_column = scan.exists() && !scan.by_head();
  const int64_t step_cols = by_column ? scan.n_inner : scan.n_steps;
  const int64_t conv_cols = widest(model, LayerSize::conv);
  const int64_t ff_cols = widest_inner(model);
  const RelativePlan& relative = h.relative;
  const int64_t distance_cols = h.n_heads * relative.n_columns;
  const int64_t block_rows = max_rank > 0 ? std::min(max_rows, kLowRankRows) : 0;
  // Room for a row of the model's ends, too, where products are added to few rows at a time.
  const int64_t outer_cols = std::max<int64_t>(1, widest_product(model));
  const int64_t widest_end = std::max(h.n_vocab, h.n_embd_in);
  const int64_t end_rows = max_rank > 0 ? (widest_end + outer_cols - 1) / outer_cols : 0;
  const int64_t mixed_cols = h.time_mix.exists() ? std::max(h.n_embd, inner_cols) : 0;
  std::vector<ViewPart> parts = {
      {&a.views_.x, max_rows, stream_cols(h)},
      {&a.views_.h, max_rows, stream_cols(h)},
      {&a.views_.h2, max_rows, stream_cols(h)},
      {&a.views_.q, max_rows, q_cols},
      {&a.views_.k, max_rows, widest(model, LayerSize::k)},
      {&a.views_.v, max_rows, widest(model, LayerSize::v)},
      {&a.views_.attn_gate, max_rows, std::max(gate_cols, inner_cols)},
      {&a.views_.attn, max_rows, std::max(widest(model, LayerSize::attn), inner_cols)},
      {&a.views_.beta, max_rows, head_cols},
      {&a.views_.decay, max_rows, std::max(widest(model, LayerSize::decays), step_cols)},
      {&a.views_.of_query, max_rows, relative.by_query ? distance_cols : 0},
      {&a.views_.of_key, max_rows, relative.by_key ? distance_cols : 0},
      {&a.views_.decay_gate, max_rows, h.recurrence.n_columns},
      {&a.views_.conv, max_rows, conv_cols},
      {&a.views_.gate, max_rows, ff_cols},
      {&a.views_.up, max_rows, ff_cols},
      {&a.views_.router, max_rows, widest(model, LayerSize::experts)},
      {&a.views_.routes, max_rows, 2 * h.n_experts_used},
      {&a.views_.beside, model.family->experts.beside_dense ? max_rows : 0, h.n_embd},
      {&a.views_.layer_inputs, max_rows, h.n_layers * h.n_layer_input},
      {&a.views_.layer_embd, max_rows, h.n_layers * h.n_layer_input},
      {&a.views_.expert.rows, h.n_experts > 0 ? max_rows : 0, std::max(h.n_embd, h.n_latent)},
      {&a.views_.expert_in, max_rows, h.n_latent},
      {&a.views_.expert_out, max_rows, h.n_latent},
      {&a.views_.logits, max_outputs, h.n_vocab},
      {&a.views_.state_low, max_rows, by_column ? scan.n_steps : 0},
      {&a.views_.state_b, max_rows, by_column ? scan.n_state : 0},
      {&a.views_.state_c, max_rows, by_column ? scan.n_state : 0},
      {&a.views_.low, max_rows, low_cols},
      {&a.views_.low_shares, max_rows, narrow.shares},
      {&a.views_.low_rank.inner, block_rows, max_rank},
      {&a.views_.low_rank.outer, std::max(block_rows, end_rows), outer_cols},
  };
  for (View& view : a.views_.mixed) parts.push_back({&view, max_rows, mixed_cols});
  add_stream_parts(h, max_rows, a.views_, parts);
  add_block_parts(h, max_rows, ff_cols, a.views_, parts);
  add_latent_parts(model, max_rows, a.views_, parts);
  add_head_parts(model, max_rows, a.views_, parts);
  const auto padded = [](const ViewPart& p) { return (p.n_rows * p.n_cols + 15) / 16 * 16; };
  int64_t numbers = 0;
  for (const ViewPart& p : parts) numbers += padded(p);
  a.memory_ = TRY(model.device->allocate(numbers * int64_t{sizeof(float)}));
  Address next = a.memory_.start;
  for (const ViewPart& p : parts) {
    *p.view = {next, p.n_rows, p.n_cols};
    next = next + padded(p) * int64_t{sizeof(float)};
  }
  a.views_.expert.gate = a.views_.gate;
  a.views_.expert.up = a.views_.up;
  return a;
}

Activations::Views Activations::rows(int64_t n_rows, int64_t n_outputs) const {
  Views cut = views_;
  for (View* view : {&cut.x,
                     &cut.h,
                     &cut.h2,
                     &cut.q,
                     &cut.k,
                     &cut.v,
                     &cut.attn_gate,
                     &cut.attn,
                     &cut.beta,
                     &cut.decay,
                     &cut.decay_gate,
                     &cut.q_low,
                     &cut.heads,
                     &cut.q_rope,
                     &cut.k_rope,
                     &cut.index_q,
                     &cut.index_k,
                     &cut.index_weights,
                     &cut.chosen,
                     &cut.conv,
                     &cut.gate,
                     &cut.up,
                     &cut.router,
                     &cut.routes,
                     &cut.low,
                     &cut.low_shares,
                     &cut.state_low,
                     &cut.state_b,
                     &cut.state_c,
                     &cut.of_query,
                     &cut.of_key,
                     &cut.beside,
                     &cut.layer_inputs,
                     &cut.layer_embd,
                     &cut.joined,
                     &cut.tapped,
                     &cut.streams,
                     &cut.predicted,
                     &cut.stream_router,
                     &cut.stream_factors,
                     &cut.laurel,
                     &cut.first,
                     &cut.wide,
                     &cut.adapted,
                     &cut.expert_in,
                     &cut.expert_out}) {
    view->n_rows = n_rows;
  }
  for (View& view : cut.mixed) view.n_rows = n_rows;
  for (View& view : cut.taps) view.n_rows = n_rows;
  cut.logits.n_rows = n_outputs;
  return cut;
}

OpsLimits ops_limits(const Model& model, int64_t max_rows, int64_t max_rank) {
  const HParams& h = model.h;
  const NarrowRows narrow = narrow_rows(model);
  // Columns are scanned in blocks.
  const int64_t scan_values =
      h.state_space.exists() ? std::max(kScanColumns, h.state_space.head_dim()) : 0;
  OpsLimits limits{
      .max_rows = max_rows,
      .max_k = std::max({h.n_embd, model.head != nullptr ? model.head->join.n_in : 0,
                         widest_factor(model), narrow.pairs, narrow.shares, max_rank}),
      .max_experts = h.n_experts,
      .max_chosen = h.n_experts_used,
      .max_state_keys =
          std::max({h.delta.key_dim, h.time_mix.head_dim, h.state_space.n_state, h.memory.key_dim}),
      .max_state_values =
          std::max({h.delta.value_dim, h.time_mix.head_dim, scan_values, h.memory.value_dim})};
  for (const LayerPlan& plan : model.plans) {
    if (plan.n_kv_heads == 0) continue;
    limits.max_head_dim = std::max({limits.max_head_dim, plan.head_dim, plan.value_dim});
    limits.max_group = std::max(limits.max_group, plan.n_heads / plan.n_kv_heads);
    if (plan.index.is_own()) {
      limits.max_index_heads = std::max(limits.max_index_heads, plan.index.n_heads);
    }
  }
  return limits;
}

}  // namespace ruv
