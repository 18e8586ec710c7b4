#include "model/bind_weights.h"

#include "model/key_centre.h"

namespace ruv {
namespace {

class Binder {
 public:
  Binder(Model& model, WeightSource& source) : m_(model), source_(source) {}

  Status run() {
    TRY(bind_embeddings());
    m_.layers.clear();
    for (int64_t i = 0; i < m_.h.n_layers; ++i) {
      m_.layers.emplace_back();
      TRY(bind_layer(i, m_.layers.back()));
      m_.layers.back().key_centre = key_centre(m_, i);
    }
    TRY(bind_output());
    m_.file->drop_pages();
    return {};
  }

 private:
  int64_t q_rows() const { return m_.h.n_heads * m_.h.head_dim; }
  int64_t kv_rows() const { return m_.h.n_kv_heads * m_.h.head_dim; }

  Status bind_embeddings() {
    MatrixRows embd = TRY(source_.matrix("token_embd.weight", -1, m_.h.n_embd));
    m_.h.n_vocab = static_cast<int64_t>(embd.rows.size());
    if (m_.h.n_vocab < 1)
      return fail(Code::corrupt, "{}: token_embd.weight is empty", m_.file->path());
    m_.token_embd = WeightSource::lookup(std::move(embd));
    if (m_.arch->block.positions == Positions::learned) {
      m_.position_embd =
          WeightSource::lookup(TRY(source_.matrix("position_embd.weight", -1, m_.h.n_embd)));
      m_.h.n_ctx_train = std::min(m_.h.n_ctx_train, m_.position_embd.n_out);
    }
    return {};
  }

  Status bind_output() {
    m_.output_norm = TRY(source_.norm("output_norm.weight", m_.h.n_embd));
    m_.output_norm_bias = TRY(source_.optional_vector("output_norm.bias", m_.h.n_embd));
    const bool tied = !source_.has("output.weight");
    m_.output = TRY(source_.pack(TRY(
        source_.matrix(tied ? "token_embd.weight" : "output.weight", m_.h.n_vocab, m_.h.n_embd))));
    return {};
  }

  Status bind_layer(int64_t i, LayerWeights& w) {
    prefix_ = fmt::format("blk.{}.", i);
    const bool layer_norm = m_.arch->block.norm == Norm::layer;
    w.attn_norm = TRY(source_.norm(prefix_ + "attn_norm.weight", m_.h.n_embd));
    w.ffn_norm = TRY(source_.norm(prefix_ + "ffn_norm.weight", m_.h.n_embd));
    if (layer_norm) {
      w.attn_norm_bias = TRY(source_.vector(prefix_ + "attn_norm.bias", m_.h.n_embd));
      w.ffn_norm_bias = TRY(source_.vector(prefix_ + "ffn_norm.bias", m_.h.n_embd));
    }
    if (m_.arch->block.norm_place == NormPlace::sandwich) {
      w.attn_post_norm = TRY(source_.norm(prefix_ + "post_attention_norm.weight", m_.h.n_embd));
      w.ffn_post_norm = TRY(source_.norm(prefix_ + "post_ffw_norm.weight", m_.h.n_embd));
    }
    if (m_.arch->block.qk_norm) {
      w.q_norm = TRY(source_.norm(prefix_ + "attn_q_norm.weight", m_.h.head_dim));
      w.k_norm = TRY(source_.norm(prefix_ + "attn_k_norm.weight", m_.h.head_dim));
    }
    TRY(bind_qkv(w));
    w.o = TRY(
        source_.pack(TRY(source_.matrix(prefix_ + "attn_output.weight", m_.h.n_embd, q_rows()))));
    w.o_bias = TRY(bias("attn_output", m_.h.n_embd, m_.arch->block.all_bias));
    return bind_feed_forward(w);
  }

  Status bind_qkv(LayerWeights& w) {
    const bool required = m_.arch->block.qkv_bias;
    MatrixRows q, k, v;
    if (source_.has(prefix_ + "attn_qkv.weight")) {
      const int64_t n_rows = q_rows() + 2 * kv_rows();
      const MatrixRows fused =
          TRY(source_.matrix(prefix_ + "attn_qkv.weight", n_rows, m_.h.n_embd));
      q = fused.part(0, q_rows());
      k = fused.part(q_rows(), kv_rows());
      v = fused.part(q_rows() + kv_rows(), kv_rows());
      const Vector all = TRY(bias("attn_qkv", n_rows, required));
      if (!all.empty()) {
        w.q_bias.assign(all.begin(), all.begin() + q_rows());
        w.k_bias.assign(all.begin() + q_rows(), all.begin() + q_rows() + kv_rows());
        w.v_bias.assign(all.begin() + q_rows() + kv_rows(), all.end());
      }
    } else {
      q = TRY(source_.matrix(prefix_ + "attn_q.weight", q_rows(), m_.h.n_embd));
      k = TRY(source_.matrix(prefix_ + "attn_k.weight", kv_rows(), m_.h.n_embd));
      v = TRY(source_.matrix(prefix_ + "attn_v.weight", kv_rows(), m_.h.n_embd));
      w.q_bias = TRY(bias("attn_q", q_rows(), required));
      w.k_bias = TRY(bias("attn_k", kv_rows(), required));
      w.v_bias = TRY(bias("attn_v", kv_rows(), required));
    }
    if (m_.file->rope_order() == RopeOrder::neighbours) {
      reorder(q, w.q_bias);
      reorder(k, w.k_bias);
    }
    w.q = TRY(source_.pack(q));
    w.k = TRY(source_.pack(k));
    w.v = TRY(source_.pack(v));
    return {};
  }

  void reorder(MatrixRows& matrix, Vector& bias) const {
    const auto n_dims = static_cast<int64_t>(2 * m_.rope.global.inv_freq.size());
    const std::vector<int64_t> order =
        halves_from_neighbours(static_cast<int64_t>(matrix.rows.size()), m_.h.head_dim, n_dims);
    const std::vector<const std::byte*> rows = matrix.rows;
    const Vector old = bias;
    for (size_t i = 0; i < order.size(); ++i) {
      matrix.rows[i] = rows[static_cast<size_t>(order[i])];
      if (!bias.empty()) bias[i] = old[static_cast<size_t>(order[i])];
    }
  }

  Status bind_feed_forward(LayerWeights& w) {
    const int64_t n_ff = m_.h.n_ff;
    const bool required = m_.arch->block.all_bias;
    if (m_.arch->block.gated && !source_.has(prefix_ + "ffn_gate.weight")) {
      const MatrixRows fused =
          TRY(source_.matrix(prefix_ + "ffn_up.weight", 2 * n_ff, m_.h.n_embd));
      w.gate = TRY(source_.pack(fused.part(0, n_ff)));
      w.up = TRY(source_.pack(fused.part(n_ff, n_ff)));
    } else {
      w.up = TRY(source_.pack(TRY(source_.matrix(prefix_ + "ffn_up.weight", n_ff, m_.h.n_embd))));
      w.up_bias = TRY(bias("ffn_up", n_ff, required));
      if (m_.arch->block.gated) {
        w.gate =
            TRY(source_.pack(TRY(source_.matrix(prefix_ + "ffn_gate.weight", n_ff, m_.h.n_embd))));
        w.gate_bias = TRY(bias("ffn_gate", n_ff, false));
      }
    }
    w.down = TRY(source_.pack(TRY(source_.matrix(prefix_ + "ffn_down.weight", m_.h.n_embd, n_ff))));
    w.down_bias = TRY(bias("ffn_down", m_.h.n_embd, required));
    return {};
  }

  Result<Vector> bias(std::string_view role, int64_t n, bool required) const {
    const std::string name = fmt::format("{}{}.bias", prefix_, role);
    return required ? source_.vector(name, n) : source_.optional_vector(name, n);
  }

  Model& m_;
  WeightSource& source_;
  std::string prefix_;
};

}  // namespace

Status bind_weights(Model& model, WeightSource& source) { return Binder(model, source).run(); }

}  // namespace ruv
