// Tensors are taken in the order of the decoder, so that a packed file is read from front to back.
// Checkpoints and GGUF files name and fuse projections differently; both end in the same weights.
#include "model/bind_weights.h"

#include <set>

#include "model/key_centre.h"

namespace ruv {
namespace {

class Binder {
 public:
  Binder(Model& model, WeightSource& source) : m_(model), source_(source) {
    for (const TensorInfo& tensor : m_.file->tensors()) note_bias(tensor.name);
  }

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
      return fail(Code::corrupt, "{}: tensor '{}' is empty", m_.file->path(),
                  m_.file->shown_tensor("token_embd.weight"));
    m_.token_embd = WeightSource::lookup(std::move(embd));
    if (m_.family->block.positions == Positions::learned) {
      m_.position_embd =
          WeightSource::lookup(TRY(source_.matrix("position_embd.weight", -1, m_.h.n_embd)));
      m_.h.n_ctx_train = std::min(m_.h.n_ctx_train, m_.position_embd.n_out);
    }
    return {};
  }

  Status bind_output() {
    m_.output_norm = TRY(source_.norm("output_norm.weight", m_.h.n_embd));
    if (m_.family->block.norm == Norm::layer) {
      m_.output_norm_bias = TRY(source_.vector("output_norm.bias", m_.h.n_embd));
    }
    const bool tied = !source_.has("output.weight");
    m_.output = TRY(source_.pack(TRY(
        source_.matrix(tied ? "token_embd.weight" : "output.weight", m_.h.n_vocab, m_.h.n_embd))));
    return {};
  }

  Status bind_layer(int64_t i, LayerWeights& w) {
    prefix_ = fmt::format("blk.{}.", i);
    const bool layer_norm = m_.family->block.norm == Norm::layer;
    w.attn_norm = TRY(source_.norm(prefix_ + "attn_norm.weight", m_.h.n_embd));
    w.ffn_norm = TRY(source_.norm(prefix_ + "ffn_norm.weight", m_.h.n_embd));
    if (layer_norm) {
      w.attn_norm_bias = TRY(source_.vector(prefix_ + "attn_norm.bias", m_.h.n_embd));
      w.ffn_norm_bias = TRY(source_.vector(prefix_ + "ffn_norm.bias", m_.h.n_embd));
    }
    if (m_.family->block.norm_place == NormPlace::sandwich) {
      w.attn_post_norm = TRY(source_.norm(prefix_ + "post_attention_norm.weight", m_.h.n_embd));
      w.ffn_post_norm = TRY(source_.norm(prefix_ + "post_ffw_norm.weight", m_.h.n_embd));
    }
    if (m_.family->block.qk_norm) {
      w.q_norm = TRY(source_.norm(prefix_ + "attn_q_norm.weight", m_.h.head_dim));
      w.k_norm = TRY(source_.norm(prefix_ + "attn_k_norm.weight", m_.h.head_dim));
    }
    TRY(bind_qkv(w));
    w.o = TRY(
        source_.pack(TRY(source_.matrix(prefix_ + "attn_output.weight", m_.h.n_embd, q_rows()))));
    w.o_bias = TRY(bias("attn_output", m_.h.n_embd, "attention_output_bias", block().all_bias));
    return bind_feed_forward(w);
  }

  // One fused matrix of q, k and v, or three of their own.
  Status bind_qkv(LayerWeights& w) {
    const bool required = block().qkv_bias;
    constexpr std::string_view kKey = "attention_bias";
    MatrixRows q, k, v;
    if (source_.has(prefix_ + "attn_qkv.weight")) {
      const int64_t n_rows = q_rows() + 2 * kv_rows();
      const MatrixRows fused =
          TRY(source_.matrix(prefix_ + "attn_qkv.weight", n_rows, m_.h.n_embd));
      q = fused.part(0, q_rows());
      k = fused.part(q_rows(), kv_rows());
      v = fused.part(q_rows() + kv_rows(), kv_rows());
      const Vector all = TRY(bias("attn_qkv", n_rows, kKey, required));
      if (!all.empty()) {
        w.q_bias.assign(all.begin(), all.begin() + q_rows());
        w.k_bias.assign(all.begin() + q_rows(), all.begin() + q_rows() + kv_rows());
        w.v_bias.assign(all.begin() + q_rows() + kv_rows(), all.end());
      }
    } else {
      q = TRY(source_.matrix(prefix_ + "attn_q.weight", q_rows(), m_.h.n_embd));
      k = TRY(source_.matrix(prefix_ + "attn_k.weight", kv_rows(), m_.h.n_embd));
      v = TRY(source_.matrix(prefix_ + "attn_v.weight", kv_rows(), m_.h.n_embd));
      w.q_bias = TRY(bias("attn_q", q_rows(), kKey, required));
      w.k_bias = TRY(bias("attn_k", kv_rows(), kKey, required));
      w.v_bias = TRY(bias("attn_v", kv_rows(), kKey, required));
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

  // Rows that rotate as neighbours become rows that rotate as halves; the decoder knows only these.
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

  // Gate and up may be fused in one matrix, gate first.
  Status bind_feed_forward(LayerWeights& w) {
    const int64_t n_ff = m_.h.n_ff;
    const bool required = block().all_bias;
    constexpr std::string_view kKey = "mlp_bias";
    if (m_.family->block.gated && !source_.has(prefix_ + "ffn_gate.weight")) {
      const MatrixRows fused =
          TRY(source_.matrix(prefix_ + "ffn_up.weight", 2 * n_ff, m_.h.n_embd));
      w.gate = TRY(source_.pack(fused.part(0, n_ff)));
      w.up = TRY(source_.pack(fused.part(n_ff, n_ff)));
    } else {
      w.up = TRY(source_.pack(TRY(source_.matrix(prefix_ + "ffn_up.weight", n_ff, m_.h.n_embd))));
      w.up_bias = TRY(bias("ffn_up", n_ff, kKey, required));
      if (m_.family->block.gated) {
        w.gate =
            TRY(source_.pack(TRY(source_.matrix(prefix_ + "ffn_gate.weight", n_ff, m_.h.n_embd))));
        w.gate_bias = TRY(bias("ffn_gate", n_ff, kKey, required));
      }
    }
    w.down = TRY(source_.pack(TRY(source_.matrix(prefix_ + "ffn_down.weight", m_.h.n_embd, n_ff))));
    w.down_bias = TRY(bias("ffn_down", m_.h.n_embd, kKey, required));
    return {};
  }

  const BlockSpec& block() const { return m_.family->block; }

  // "blk.3.attn_q.bias": some layer has this bias.
  void note_bias(std::string_view name) {
    const size_t dot = name.starts_with("blk.") ? name.find('.', 4) : name.npos;
    if (dot != name.npos && name.ends_with(".bias")) biases_.emplace(name.substr(dot + 1));
  }

  // What the file says under `key` counts, true or false. Where it says nothing (GGUF), a bias that
  // one layer has all layers have.
  Result<Vector> bias(std::string_view role, int64_t n, std::string_view key, bool required) const {
    const std::string ending = fmt::format("{}.bias", role);
    const MetaValue* const value = m_.file->find(key);
    const bool* const said = value == nullptr ? nullptr : std::get_if<bool>(value);
    const bool wanted = said != nullptr ? *said : required || biases_.contains(ending);
    if (!wanted) return Vector{};
    return source_.vector(prefix_ + ending, n);
  }

  Model& m_;
  WeightSource& source_;
  std::string prefix_;
  std::set<std::string, std::less<>> biases_;
};

}  // namespace

Status bind_weights(Model& model, WeightSource& source) { return Binder(model, source).run(); }

}  // namespace ruv
