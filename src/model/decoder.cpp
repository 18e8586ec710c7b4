// One forward pass for every decoder family. Branches on what a block does, never on which model it
// is. Shapes: x (rows, n_embd) is the residual stream; q (rows, n_heads·head_dim).
#include "model/decoder.h"

namespace ruv {
namespace {

const Vector kNone;

void attention(Ops& ops, const Model& m, int64_t i, int64_t n_ctx, const Activations::Views& a) {
  const BlockSpec& s = m.family->block;
  const HParams& h = m.h;
  const LayerWeights& w = m.layers[static_cast<size_t>(i)];
  const Ops::NormParams norm{s.norm, h.norm_eps};
  const Ops::Product qkv[] = {
      {a.q, &w.q, &w.q_bias}, {a.k, &w.k, &w.k_bias}, {a.v, &w.v, &w.v_bias}};
  ops.matmul_each(qkv, a.h);
  if (s.qk_norm) {
    ops.norm(a.q.split(h.head_dim), a.q.split(h.head_dim), w.q_norm, kNone, norm);
    ops.norm(a.k.split(h.head_dim), a.k.split(h.head_dim), w.k_norm, kNone, norm);
  }
  if (s.positions == Positions::rope) {
    ops.rope(a.q, h.head_dim, m.rope_of(i, n_ctx));
    ops.rope(a.k, h.head_dim, m.rope_of(i, n_ctx));
  }
  ops.store_kv(i, a.k, a.v, w.key_centre);
  ops.attend(
      a.attn, a.q,
      {i, h.n_heads, h.n_kv_heads, h.head_dim, h.attn_scale_of(i), h.attn_softcap, m.window_of(i)});
  ops.matmul(a.h, a.attn, w.o, w.o_bias);
  if (s.norm_place == NormPlace::sandwich) ops.norm(a.h, a.h, w.attn_post_norm, kNone, norm);
}

void feed_forward(Ops& ops, const Model& m, int64_t i, const Activations::Views& a) {
  const BlockSpec& s = m.family->block;
  const LayerWeights& w = m.layers[static_cast<size_t>(i)];
  if (s.gated) {
    const Ops::Product gate_up[] = {{a.gate, &w.gate, &w.gate_bias}, {a.up, &w.up, &w.up_bias}};
    ops.matmul_each(gate_up, a.h2);
    ops.gate(a.gate, a.up, s.act);
  } else {
    ops.matmul(a.gate, a.h2, w.up, w.up_bias);
    ops.activate(a.gate, s.act);
  }
  ops.matmul(a.h, a.gate, w.down, w.down_bias);
  if (s.norm_place == NormPlace::sandwich) {
    ops.norm(a.h, a.h, w.ffn_post_norm, kNone, {s.norm, m.h.norm_eps});
  }
}

void embed(Ops& ops, const Model& m, const Batch& batch, View x) {
  ops.embed(x, m.token_embd, batch.tokens, m.h.embed_scale);
  for (const EmbeddedRows& e : batch.embedded) {
    ops.copy(x.rows(e.row_begin, e.rows.n_rows), e.rows);
  }
  if (m.family->block.positions == Positions::learned) {
    ops.add_embedding(x, m.position_embd, batch.positions);
  }
}

// `x` after the last norm, of these rows.
View hidden_of(Ops& ops, const Model& m, std::span<const int32_t> rows, View x, View to) {
  const View hidden = to.rows(0, std::ssize(rows));
  ops.gather(hidden, x, rows);
  ops.norm(hidden, hidden, m.output_norm, m.output_norm_bias, {m.family->block.norm, m.h.norm_eps});
  return hidden;
}

StepOutput outputs(Ops& ops, const Model& m, const Batch& batch, const Activations::Views& a) {
  StepOutput out{a.logits, a.h2.rows(0, 0)};
  if (batch.n_hidden() > 0) out.hidden = hidden_of(ops, m, batch.hidden_rows, a.x, a.h2);
  if (batch.n_logits() == 0) return out;
  const View last = hidden_of(ops, m, batch.logit_rows, a.x, a.h);
  ops.matmul(a.logits, last, m.output, kNone);
  if (m.h.final_softcap > 0) ops.softcap(a.logits, m.h.final_softcap);
  return out;
}

}  // namespace

std::optional<StepOutput> decode(Ops& ops, const Model& m, const Batch& batch,
                                 const Activations& activations, int64_t n_ctx,
                                 const StopFlag* stop) {
  const Activations::Views a = activations.rows(batch.n_rows(), batch.n_logits());
  const Ops::NormParams norm{m.family->block.norm, m.h.norm_eps};

  ops.begin(batch, {&m.global_rope(n_ctx), &m.local_rope(n_ctx)});
  embed(ops, m, batch, a.x);
  ops.norm(a.h, a.x, m.layers[0].attn_norm, m.layers[0].attn_norm_bias, norm);
  for (int64_t i = 0; i < m.h.n_layers; ++i) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) return std::nullopt;
    const LayerWeights& w = m.layers[static_cast<size_t>(i)];
    attention(ops, m, i, n_ctx, a);
    ops.add_norm(a.x, a.h, a.h2, w.ffn_norm, w.ffn_norm_bias, norm);
    feed_forward(ops, m, i, a);
    if (i + 1 < m.h.n_layers) {
      const LayerWeights& next = m.layers[static_cast<size_t>(i) + 1];
      ops.add_norm(a.x, a.h, a.h, next.attn_norm, next.attn_norm_bias, norm);
    } else {
      ops.add(a.x, a.h);
    }
  }
  return outputs(ops, m, batch, a);
}

}  // namespace ruv
