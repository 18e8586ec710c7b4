// Tensors are taken in the order of the decoder, so that a packed file is read from front to back.
// Checkpoints and GGUF files name and fuse projections differently; both end in the same weights.
#include "model/bind_weights.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/elementary.h"
#include "model/bind_distances.h"
#include "model/bind_latent.h"
#include "model/bind_time_mix.h"
#include "model/draft_head.h"
#include "model/file_rows.h"
#include "model/head_tokens.h"
#include "model/key_centre.h"
#include "model/output_dense.h"
#include "model/parallel_heads.h"

namespace ruv {
namespace {

class Binder {
 public:
  Binder(Model& model, WeightSource& source) : m_(model), source_(source) {
    for (const TensorInfo& tensor : m_.file->tensors()) note_bias(tensor.name);
  }

  Status run() {
    if (is_parallel_heads(m_)) return bind_parallel_heads(m_, source_);
    if (m_.family->is_draft_head) return bind_own_head();
    TRY(source_.noted("token_embd", bind_embeddings()));
    if (m_.h.encoder != nullptr) TRY(source_.noted("enc.token_embd", bind_source_embeddings()));
    TRY(source_.noted("", read_distances()));
    if (m_.h.n_layer_input > 0) TRY(source_.noted("per_layer_", bind_layer_inputs()));
    m_.streams_in.clear();
    m_.streams_out.clear();
    TRY(source_.noted("altup_proj.", bind_streams("altup_proj", m_.streams_in)));
    TRY(source_.noted("altup_unembd_proj.", bind_streams("altup_unembd_proj", m_.streams_out)));
    m_.layers.clear();
    for (int64_t i = 0; i < m_.h.n_layers; ++i) {
      const int64_t first = first_with_tensors_of(i);
      m_.layers.emplace_back();
      if (first < i) {
        m_.layers.back() = m_.layers[static_cast<size_t>(first)];
      } else {
        TRY(bind_layer(i, m_.layers.back()));
      }
    }
    const std::string last(m_.family->last_norm);
    if (!last.empty()) {
      TRY(source_.noted(last + ".", bind_norm(last, m_.h.n_embd, m_.output_norm)));
    }
    if (m_.h.reads_source()) {
      TRY(source_.noted("enc.output_norm.",
                        bind_norm("enc.output_norm", m_.h.of_encoder().n_embd, m_.source_norm)));
    }
    if (!m_.h.encodes) TRY(source_.noted("output.", bind_output()));
    const bool scores =
        m_.file->find("classifier.activation") != nullptr || source_.has("cls.output.weight");
    if (scores) TRY(source_.noted("cls.", bind_scores()));
    if (m_.head != nullptr) TRY(bind_head());
    m_.file->drop_pages();
    return {};
  }

  // Files may leave out embeddings and output that are the model's.
  Status bind_head() {
    const int64_t n = m_.h.n_embd;
    m_.layers.resize(static_cast<size_t>(m_.h.n_layers) + 1);
    TRY(bind_layer(m_.h.n_layers, m_.layers.back()));
    DraftHead& head = *m_.head;
    TRY(bind_norm(prefix_ + "nextn.enorm", n, head.embd_norm));
    TRY(bind_norm(prefix_ + "nextn.hnorm", n, head.hidden_norm));
    TRY(bind_norm(prefix_ + "nextn.shared_head_norm", n, head.norm));
    head.join = TRY(source_.pack(TRY(source_.matrix(name_of("nextn.eh_proj"), n, 2 * n))));
    const TensorInfo* const table = m_.file->find_tensor("token_embd.weight");
    const int64_t n_vocab = table == nullptr || table->shape.empty() ? -1 : table->shape[0];
    if (const std::string name = name_of("nextn.embed_tokens"); source_.has(name)) {
      head.token_embd = TRY(source_.lookup(TRY(source_.table(name, n_vocab, n))));
    }
    if (const std::string name = name_of("nextn.shared_head_head"); source_.has(name)) {
      head.output = TRY(source_.pack(TRY(source_.matrix(name, n_vocab, n))));
    }
    return {};
  }

 private:
  // A file that is a head. It may leave out embeddings and output that are the model's.
  Status bind_own_head() {
    const int64_t n = m_.h.n_embd;
    DraftHead& head = *m_.head;
    m_.layers.assign(1, LayerWeights());
    TRY(source_.noted("d2t", put(head.tokens, read_head_tokens(source_, m_))));
    TRY(source_.noted("fc.", put(head.join, packed("fc.weight", n, int64_t{kTaps} * n))));
    TRY(source_.noted("blk.0.attn_norm.", bind_norm("blk.0.attn_norm", n, head.embd_norm)));
    TRY(source_.noted("blk.0.attn_norm_2.", bind_norm("blk.0.attn_norm_2", n, head.hidden_norm)));
    TRY(bind_layer(0, m_.layers.front()));
    TRY(source_.noted("output_norm.", bind_norm("output_norm", n, head.norm)));
    if (source_.has("token_embd.weight")) {
      TRY(source_.noted("token_embd.", bind_own_embeddings()));
    }
    const bool is_partial = !head.tokens.empty();
    if (!is_partial && !source_.has("output.weight")) return {};
    const int64_t n_out = is_partial ? std::ssize(head.tokens) : m_.h.n_vocab;
    TRY(source_.noted("output.", put(head.output, packed("output.weight", n_out, n))));
    m_.file->drop_pages();
    return {};
  }
  Status bind_own_embeddings() {
    m_.head->token_embd =
        TRY(source_.lookup(TRY(source_.table("token_embd.weight", m_.h.n_vocab, m_.h.n_embd))));
    return {};
  }
  Result<Weight> packed(const std::string& name, int64_t n_out, int64_t n_in) {
    return source_.pack(TRY(source_.matrix(name, n_out, n_in)));
  }

  // The first layer that has the same tensors.
  int64_t first_with_tensors_of(int64_t i) const {
    if (!m_.family->block.repeats_layers) return i;
    const std::string& own = m_.plans[static_cast<size_t>(i)].tensors;
    return std::ranges::find(m_.plans, own, &LayerPlan::tensors) - m_.plans.begin();
  }

  Status bind_embeddings() {
    const int64_t n_in = m_.h.n_embd_in;
    MatrixRows embd = TRY(source_.table("token_embd.weight", -1, n_in));
    m_.h.n_vocab = static_cast<int64_t>(embd.rows.size());
    if (m_.h.n_vocab < 1)
      return fail(Code::corrupt, "{}: tensor '{}' is empty", m_.file->path(),
                  m_.file->shown_tensor("token_embd.weight"));
    m_.token_embd = TRY(source_.lookup(embd));
    if (m_.h.start_token >= m_.h.n_vocab) {
      return fail(Code::corrupt, "{}: '{}' = {} is not one of {} tokens", m_.file->path(),
                  m_.file->shown_key("decoder_start_token_id"), m_.h.start_token, m_.h.n_vocab);
    }
    if (m_.h.positions == Positions::learned) {
      const MatrixRows table = TRY(source_.table("position_embd.weight", -1, n_in));
      const int64_t first = m_.h.position_offset;
      if (std::ssize(table.rows) <= first) {
        return fail(Code::corrupt, "{}: tensor '{}' has no more than {} rows", m_.file->path(),
                    m_.file->shown_tensor("position_embd.weight"), first);
      }
      m_.position_embd = TRY(source_.lookup(table.part(first, std::ssize(table.rows) - first)));
      m_.h.n_ctx_train = std::min(m_.h.n_ctx_train, m_.position_embd.n_out);
    }
    if (m_.family->block.token_types) TRY(bind_token_types());
    if (m_.family->block.embd_norm) TRY(bind_norm("token_embd_norm", n_in, m_.embd_norm));
    // Layers that repeat are preceded by the matrix whatever the widths are.
    if (n_in == m_.h.n_embd && !m_.family->block.repeats_layers) return {};
    m_.embd_in.weight =
        TRY(source_.pack(TRY(source_.matrix("token_embd_in.weight", m_.h.n_embd, n_in))));
    m_.embd_in.bias = TRY(source_.upload(TRY(source_.vector("token_embd_in.bias", m_.h.n_embd))));
    return {};
  }

  // Both tables have a row for each token.
  Status bind_source_embeddings() {
    const int64_t n_rows = m_.token_embd.empty() ? -1 : m_.h.n_vocab;
    m_.source_embd = TRY(
        source_.lookup(TRY(source_.table("enc.token_embd.weight", n_rows, m_.h.encoder->n_embd))));
    return {};
  }

  Status read_distances() {
    const Distances kind = m_.h.relative.exists() ? m_.h.relative.kind : Distances::none;
    if (kind == Distances::products) distance_rows_ = TRY(read_distance_rows(m_, source_));
    return {};
  }

  // A matrix for each stream but the first: one tensor of all, or one of each.
  Status bind_streams(std::string_view tensor, std::vector<Weight>& streams) {
    const int64_t n = m_.h.streams.n - 1, n_embd = m_.h.n_embd;
    const std::string stack = fmt::format("{}.weight", tensor);
    for (int64_t i = 0; i < n; ++i) {
      const std::string own = fmt::format("{}.{}.weight", tensor, i);
      streams.push_back(
          TRY(source_.pack(TRY(source_.has(stack) ? source_.of_stack(stack, i, n, n_embd, n_embd)
                                                  : source_.matrix(own, n_embd, n_embd)))));
    }
    return {};
  }

  // All layers have one table, or those of a side that of its first one; or each its own, as the
  // config says or where a GGUF file has it.
  Status bind_distance_numbers(const LayerPlan& plan, LayerWeights& w) {
    constexpr std::string_view kTable = "attn_rel_b.weight";
    const MetaValue* const value = m_.file->find("attention.own_distances");
    const bool* const said = value == nullptr ? nullptr : std::get_if<bool>(value);
    const std::string own = fmt::format("{}{}", plan.tensors, kTable);
    std::string name(kTable);
    if (plan.side != Side::all) {
      const bool has_own = said != nullptr ? *said : source_.has(own);
      const auto is_beside = [&](const LayerPlan& other) { return other.side == plan.side; };
      name = has_own
                 ? own
                 : fmt::format("{}{}", std::ranges::find_if(m_.plans, is_beside)->tensors, kTable);
    }
    return source_.noted(name, put(w.distances, bind_distance_table(m_, plan, name, source_)));
  }

  template <class T>
  static Status put(T& to, Result<T> made) {
    to = TRY(std::move(made));
    return {};
  }

  // Every token must have a row, or those without one have the first.
  Status bind_layer_inputs() {
    constexpr std::string_view kTable = "per_layer_token_embd.weight";
    const int64_t n = m_.h.n_layers * m_.h.n_layer_input;
    const MatrixRows table = TRY(source_.table(std::string(kTable), -1, n));
    const bool is_short = !m_.token_embd.empty() && std::ssize(table.rows) < m_.h.n_vocab;
    if (table.rows.empty() || (is_short && !m_.h.streams.exists())) {
      return fail(Code::unsupported, "{}: tensor '{}' has {} rows for {} tokens", m_.file->path(),
                  m_.file->shown_tensor(kTable), table.rows.size(), m_.h.n_vocab);
    }
    m_.layer_input_embd = TRY(source_.lookup(table));
    m_.layer_input_proj.weight =
        TRY(source_.pack(TRY(source_.matrix("per_layer_model_proj.weight", n, m_.h.n_embd))));
    return bind_norm("per_layer_proj_norm", m_.h.n_layer_input, m_.layer_input_norm);
  }

  // A config says how many there are; a GGUF file has the table or not.
  Status bind_token_types() {
    constexpr std::string_view kCount = "token_type_count";
    const std::string name = "token_types.weight";
    const bool is_said = m_.file->find(kCount) != nullptr;
    const int64_t n = is_said ? TRY(m_.file->integer(kCount)) : -1;
    if (is_said ? n == 0 : !source_.has(name)) return {};
    m_.token_types = TRY(source_.lookup(TRY(source_.matrix(name, n, m_.h.n_embd_in))));
    return {};
  }

  // Without embeddings, after a fault, its rows have no number to be compared with.
  Status bind_output() {
    if (m_.token_embd.empty()) {
      if (source_.has("output.weight")) TRY(source_.matrix("output.weight", -1, m_.h.n_embd));
      return {};
    }
    // A GGUF file has it or not.
    const MetaValue* const value = m_.file->find("lm_head_bias");
    const bool* const said = value == nullptr ? nullptr : std::get_if<bool>(value);
    if (said != nullptr ? *said : m_.family->block.head_bias || source_.has("output.bias")) {
      m_.output_bias = TRY(source_.upload(TRY(source_.vector("output.bias", m_.h.n_vocab))));
    }
    if (m_.family->block.output_dense) TRY(bind_output_dense(m_, source_));
    const bool tied = !source_.has("output.weight");
    m_.output = TRY(source_.pack(TRY(
        source_.matrix(tied ? "token_embd.weight" : "output.weight", m_.h.n_vocab, m_.h.n_embd))));
    return {};
  }

  Status bind_scores() {
    m_.classifier = TRY(bind_classifier(m_, source_));
    return {};
  }

  Status bind_layer(int64_t i, LayerWeights& w) {
    const LayerPlan& plan = m_.plans[static_cast<size_t>(i)];
    prefix_ = plan.tensors;
    fused_ = {};
    // The layer whose weights a block uses again.
    const LayerWeights* const first = plan.shared.exists() && plan.shared.layer != i
                                          ? &m_.layers[static_cast<size_t>(plan.shared.layer)]
                                          : nullptr;
    for (const NormRow& row : norm_rows()) {
      if (!plan.has(row.role)) continue;
      if (first != nullptr && (row.role == NormRole::attn || row.role == NormRole::ffn)) {
        w[row.role] = (*first)[row.role];
        continue;
      }
      const std::string name = fmt::format("{}{}", prefix_, norm_name(row));
      if (row.role == NormRole::v || row.role == NormRole::router ||
          row.role == NormRole::stream_router) {
        TRY(source_.noted(name, bind_unusual_norm(name, row, plan, w[row.role])));
        continue;
      }
      TRY(source_.noted(name + ".", bind_usual_norm(name, row, plan, w[row.role])));
    }
    if (plan.feed_forward == FeedForward::gated_and_experts) {
      const std::string name = prefix_ + "ffn_down_exps.scale";
      TRY(source_.noted(name, bind_expert_scales(name, plan, w)));
    }
    for (const RoleRow& row : role_rows()) {
      if (!plan.has(row.role)) continue;
      if (plan.shared.exists() && is_of_use(row.role)) {
        const std::string name =
            fmt::format("blk.{}.{}.{}", plan.shared.layer, row.tensor, plan.shared.use);
        TRY(source_.noted(name + ".", bind_plain(name, row, plan, w[row.role])));
      } else if (first != nullptr && is_of_block(row.role)) {
        w[row.role] = (*first)[row.role];
      } else {
        TRY(note_role(row, plan, bind_role(row, i, plan, w)));
      }
    }
    if (plan.mixer == Mixer::short_conv) {
      TRY(source_.noted(prefix_ + "shortconv.conv.", bind_short_conv(plan, w)));
    }
    if (plan.mixer == Mixer::delta_net) {
      TRY(source_.noted(prefix_ + "ssm_", bind_delta_net(plan, w)));
    }
    if (plan.has_experts()) {
      TRY(source_.noted(prefix_ + "exp_probs_b.", bind_choice_bias(plan, w)));
    }
    if (plan.relative.kind == Distances::numbers) TRY(bind_distance_numbers(plan, w));
    if (plan.relative.kind == Distances::products && plan.relative.exists()) {
      TRY(source_.noted(prefix_ + "attn_", bind_distances(m_, i, distance_rows_, source_, w)));
    }
    if (plan.scales_stream) {
      TRY(source_.noted(prefix_ + "layer_output_scale.", bind_stream_scale(w)));
    }
    if (plan.streams.scales_active && plan.streams.exists()) {
      TRY(source_.noted(prefix_ + "altup_correct_scale.", bind_active_scale(w)));
    }
    if (plan.has_sinks) {
      TRY(source_.noted(prefix_ + "attn_sinks.", bind_sinks(plan, w)));
    }
    if (plan.mixer == Mixer::gated_recurrence) {
      TRY(source_.noted(prefix_ + "recurrence_", bind_recurrence(plan, w)));
    }
    if (plan.memory.exists()) {
      const std::string name = name_of("memory_norm");
      w.inner_norm = TRY(source_.upload(TRY(source_.vector(name, plan.memory.n_inner()))));
    }
    if (plan.state_space.exists()) {
      TRY(source_.noted(prefix_ + "ssm_", bind_state_space(plan, w)));
    }
    if (plan.time_mix.exists()) {
      TRY(source_.noted(prefix_ + "time_mix_", bind_time_mix(m_, source_, prefix_, i, w.time_mix)));
    }
    return {};
  }

  // Values have no weights; a router's scale is divided by the root of the stream's width, that of
  // streams by the width itself.
  Status bind_unusual_norm(const std::string& name, const NormRow& row, const LayerPlan& plan,
                           NormWeights& norm) {
    const int64_t n = plan.extent(row.n);
    std::vector<float> weight(static_cast<size_t>(n), 1.0F);
    if (row.role == NormRole::router) {
      const float share = 1.0F / std::sqrt(static_cast<float>(n));
      weight = TRY(source_.vector(name, n));
      for (float& x : weight) x *= share;
    }
    if (row.role == NormRole::stream_router) {
      weight = TRY(source_.norm(name + ".weight", n));
      for (float& x : weight) x /= static_cast<float>(n);
    }
    norm.weight = TRY(source_.upload(std::move(weight)));
    return {};
  }

  Status bind_expert_scales(const std::string& name, const LayerPlan& plan, LayerWeights& w) {
    w.expert_scales = TRY(source_.upload(TRY(source_.vector(name, plan.n_experts))));
    return {};
  }

  // Files without it mean 1.
  Status bind_stream_scale(LayerWeights& w) {
    const std::string name = name_of("layer_output_scale");
    if (source_.has(name)) w.stream_scale = TRY(source_.vector(name, 1)).front();
    return {};
  }

  Status bind_active_scale(LayerWeights& w) {
    const std::string name = name_of("altup_correct_scale");
    w.active_scale = TRY(source_.upload(TRY(source_.vector(name, m_.h.n_embd))));
    return {};
  }

  // What blocks share, and what only one use of a block reads.
  static bool is_of_block(Role role) {
    constexpr Role kShared[] = {Role::q,    Role::k,  Role::v,   Role::o,
                                Role::gate, Role::up, Role::down};
    return std::ranges::count(kShared, role) > 0;
  }
  static bool is_of_use(Role role) { return role >= Role::q_low && role <= Role::up_high; }

  // A matrix without a bias. `name` lacks its ending.
  Status bind_plain(const std::string& name, const RoleRow& row, const LayerPlan& plan,
                    Linear& linear) {
    linear.weight = TRY(source_.pack(
        TRY(source_.matrix(name + ".weight", plan.extent(row.n_out), plan.extent(row.n_in)))));
    return {};
  }

  Status bind_sinks(const LayerPlan& plan, LayerWeights& w) {
    w.sinks = TRY(source_.upload(TRY(source_.vector(name_of("attn_sinks"), plan.n_heads))));
    return {};
  }

  Status bind_role(const RoleRow& row, int64_t layer, const LayerPlan& plan, LayerWeights& w) {
    // The first of these roles stands for all of them.
    if (row.role == Role::q_plain) return bind_latent(m_, layer, source_, w);
    if (is_bound_by_latent(row.role)) return {};
    if (!row.of_experts.empty()) return bind_experts(row, plan, w[row.role]);
    std::vector<float> bias;
    TRY(bind_linear(row, plan, w[row.role], bias));
    if (row.role == Role::k) w.key_centre = TRY(source_.upload(key_centre(m_, layer, bias)));
    w[row.role].bias = TRY(source_.upload(std::move(bias)));
    return {};
  }

  // WeightSource::noted, for all tensors that may hold the role.
  Status note_role(const RoleRow& row, const LayerPlan& plan, Status status) {
    if (status.ok()) return status;
    if (!row.of_experts.empty()) {
      TRY(source_.noted(fmt::format("{}{}.", prefix_, row.of_experts), status));
    }
    if (const FusedRow* const fused = fused_row_of(row.role, plan); fused != nullptr) {
      TRY(source_.noted(fmt::format("{}{}.", prefix_, fused->tensor), status));
    }
    return source_.noted(fmt::format("{}{}.", prefix_, tensor_of(row, plan)), status);
  }

  // Where latent attention is in the other layers, the matrix after either has one name; that after
  // attention has another beside attention to a source.
  static std::string_view tensor_of(const RoleRow& row, const LayerPlan& plan) {
    if (row.role == Role::o && plan.side != Side::all) return "attn_o";
    const bool is_shared = row.role == Role::delta_out && plan.delta.by_channel;
    return is_shared ? "attn_output" : row.tensor;
  }

  // Filters lie in the file one after the other; the decoder wants all columns of a tap together.
  Result<Vector> taps(std::string_view tensor, int64_t n_cols, int64_t n_taps) {
    return upload_taps(TRY(source_.filters(name_of(tensor), n_cols, n_taps)), n_cols, n_taps);
  }
  Result<Vector> upload_taps(const std::vector<float>& filters, int64_t n_cols, int64_t n_taps) {
    std::vector<float> taps(filters.size());
    const auto length = static_cast<size_t>(n_taps);
    for (size_t i = 0; i < filters.size(); ++i) {
      taps[i % length * static_cast<size_t>(n_cols) + i / length] = filters[i];
    }
    return source_.upload(std::move(taps));
  }

  // Filters of queries, keys and values together or apart.
  Result<Vector> delta_taps(const LayerPlan& plan) {
    const DeltaHeads& heads = plan.delta;
    if (!source_.has(name_of("ssm_conv1d_q"))) {
      return taps("ssm_conv1d", heads.n_qkv(), plan.n_conv_taps);
    }
    std::vector<float> filters;
    for (const std::string_view tensor : {"ssm_conv1d_q", "ssm_conv1d_k", "ssm_conv1d_v"}) {
      const std::vector<float> part =
          TRY(source_.filters(name_of(tensor), heads.n_qkv() / 3, plan.n_conv_taps));
      filters.insert(filters.end(), part.begin(), part.end());
    }
    return upload_taps(filters, heads.n_qkv(), plan.n_conv_taps);
  }

  // Checkpoints keep the logarithm of the rate at which a head forgets.
  Status bind_delta_net(const LayerPlan& plan, LayerWeights& w) {
    const DeltaHeads& heads = plan.delta;
    w.conv_taps = TRY(delta_taps(plan));
    std::vector<float> rates = TRY(source_.vector(prefix_ + "ssm_a", heads.n_values));
    if (m_.file->container() != "gguf") {
      for (float& rate : rates) rate = static_cast<float>(-exact_exp(double{rate}));
    }
    w.decay_rate = TRY(source_.upload(std::move(rates)));
    w.decay_bias =
        TRY(source_.upload(TRY(source_.vector(prefix_ + "ssm_dt.bias", heads.n_decays()))));
    w.inner_norm = TRY(source_.upload(TRY(source_.vector(name_of("ssm_norm"), heads.value_dim))));
    return {};
  }

  // What x, b and c are multiplied by is multiplied into their filters. Files have the rates of a
  // column together, the decoder those of a state.
  Status bind_state_space(const LayerPlan& plan, LayerWeights& w) {
    constexpr std::string_view kConv = "ssm_conv1d";
    const StateSpacePlan& s = plan.state_space;
    const int64_t n_taps = plan.n_conv_taps;
    std::vector<float> filters = TRY(source_.filters(name_of(kConv), s.n_convolved(), n_taps));
    for (int64_t i = 0; i < std::ssize(filters); ++i) {
      const int64_t column = i / n_taps - s.n_inner;
      const size_t part = column < 0 ? 1 : column < s.n_groups * s.n_state ? 2 : 3;
      filters[static_cast<size_t>(i)] *= s.part_scales[part];
    }
    w.conv_taps = TRY(upload_taps(filters, s.n_convolved(), n_taps));
    const RoleRow& conv = role_rows()[static_cast<size_t>(Role::conv_in)];
    w.conv_bias = TRY(source_.upload(TRY(bias(conv, kConv, s.n_convolved()))));
    const int64_t n_rates = s.by_head() ? s.n_steps : s.n_inner;  // of a state
    const int64_t n_states = s.by_head() ? 1 : s.n_state;
    const std::vector<float> stored = TRY(source_.vector(prefix_ + "ssm_a", n_rates * n_states));
    std::vector<float> rates(stored.size());
    for (int64_t i = 0; i < std::ssize(stored); ++i) {
      const float rate = stored[static_cast<size_t>(i)];
      rates[static_cast<size_t>(i % n_states * n_rates + i / n_states)] =
          m_.file->container() == "gguf" ? rate : static_cast<float>(-exact_exp(double{rate}));
    }
    StateSpaceWeights& scan = w.state_space;
    scan.rate = TRY(source_.upload(std::move(rates)));
    scan.step_bias = TRY(source_.upload(TRY(source_.vector(prefix_ + "ssm_dt.bias", n_rates))));
    scan.skip = TRY(source_.upload(TRY(source_.vector(prefix_ + "ssm_d", n_rates))));
    if (s.norms_results) {
      w.inner_norm = TRY(source_.upload(TRY(source_.vector(name_of("ssm_norm"), s.n_inner))));
    }
    if (!s.norms_inputs) return {};
    const auto norm = [&](std::string_view tensor, int64_t n) -> Result<Vector> {
      if (m_.family->block.scan_norms) {
        return source_.upload(TRY(source_.norm(name_of(tensor), n)));
      }
      return source_.upload(std::vector<float>(static_cast<size_t>(n), 1.0F));
    };
    scan.low_norm = TRY(norm("ssm_dt_norm", s.n_steps));
    scan.b_norm = TRY(norm("ssm_b_norm", s.n_state));
    scan.c_norm = TRY(norm("ssm_c_norm", s.n_state));
    return {};
  }

  // A gate's matrices (heads, n_in, n_out), which multiply rows from the right.
  Result<std::vector<Weight>> bind_gates(std::string_view tensor, const LayerPlan& plan) {
    const int64_t n = plan.recurrence.head_dim();
    const std::vector<float> all =
        TRY(source_.vector(name_of(tensor), plan.recurrence.n_columns * n));
    std::vector<Weight> heads;
    for (int64_t head = 0; head < plan.recurrence.n_heads; ++head) {
      MatrixRows rows{fmt::format("{}{}[{}]", prefix_, tensor, head), DType::f32, n, {}, nullptr};
      rows.owned = std::make_shared<Buffer>(TRY(Buffer::allocate(n * n * int64_t{sizeof(float)})));
      auto* const numbers = rows.owned->as<float>();
      for (int64_t out = 0; out < n; ++out) {
        for (int64_t in = 0; in < n; ++in) {
          numbers[out * n + in] = all[static_cast<size_t>((head * n + in) * n + out)];
        }
        rows.rows.push_back(reinterpret_cast<const std::byte*>(numbers + out * n));
      }
      heads.push_back(TRY(source_.pack(rows)));
    }
    return heads;
  }

  Status bind_recurrence(const LayerPlan& plan, LayerWeights& w) {
    const int64_t n = plan.recurrence.n_columns;
    w.conv_taps = TRY(taps("recurrence_conv1d", n, plan.n_conv_taps));
    w.conv_bias = TRY(source_.upload(TRY(source_.vector(prefix_ + "recurrence_conv1d.bias", n))));
    GatedRecurrenceWeights& r = w.recurrence;
    r.input_gates = TRY(bind_gates("recurrence_input_gate", plan));
    r.decay_gates = TRY(bind_gates("recurrence_decay_gate", plan));
    r.input_bias =
        TRY(source_.upload(TRY(source_.vector(prefix_ + "recurrence_input_gate.bias", n))));
    r.decay_bias =
        TRY(source_.upload(TRY(source_.vector(prefix_ + "recurrence_decay_gate.bias", n))));
    // rate = -8 · ln(1 + e^x)
    std::vector<float> rate = TRY(source_.vector(name_of("recurrence_decay"), n));
    for (float& x : rate) {
      x = static_cast<float>(-8 * exact_softplus(double{x}));
    }
    r.rate = TRY(source_.upload(std::move(rate)));
    return {};
  }

  Status bind_short_conv(const LayerPlan& plan, LayerWeights& w) {
    constexpr std::string_view kTensor = "shortconv.conv";
    w.conv_taps = TRY(taps(kTensor, plan.n_embd, plan.n_conv_taps));
    const RoleRow& row = role_rows()[static_cast<size_t>(Role::conv_in)];
    w.conv_bias = TRY(source_.upload(TRY(bias(row, kTensor, plan.n_embd))));
    return {};
  }

  std::string_view norm_name(const NormRow& row) const {
    const std::string_view second = m_.family->second_norm;
    const bool is_ffn = row.role == NormRole::ffn;
    if (!second.empty() && source_.has(name_of(second))) {
      if (row.role == NormRole::attn) return second;
      if (is_ffn) return "attn_norm";
    }
    return is_ffn ? m_.family->ffn_norm : row.tensor;
  }

  // Some GGUF files have norms without the ending ".weight" (Falcon-H1).
  Status bind_norm(const std::string& name, int64_t n, NormWeights& norm) {
    const BlockSpec& block = m_.family->block;
    std::vector<float> weight(static_cast<size_t>(n), 1.0F);
    const std::string usual = name + ".weight";
    if (block.norm_weights) {
      weight = TRY(source_.norm(source_.has(usual) || !source_.has(name) ? usual : name, n));
    }
    norm.weight = TRY(source_.upload(std::move(weight)));
    if (block.norm != Norm::layer || !block.norm_biases) return {};
    norm.bias = TRY(source_.upload(TRY(source_.vector(name + ".bias", n))));
    return {};
  }

  Status bind_usual_norm(const std::string& name, const NormRow& row, const LayerPlan& plan,
                         NormWeights& norm) {
    const bool of_heads = row.role == NormRole::q || row.role == NormRole::k;
    if (of_heads) return bind_head_norm(name, row, plan, norm);
    if (row.role == NormRole::index_k) return bind_index_norm(m_, plan, name, source_, norm);
    return bind_norm(name, plan.extent(row.n), norm);
  }

  // The norm of queries or keys. Checkpoints may have a tensor for each head.
  Status bind_head_norm(const std::string& name, const NormRow& row, const LayerPlan& plan,
                        NormWeights& norm) {
    const BlockSpec& block = m_.family->block;
    const int64_t n = plan.extent(row.n);
    std::vector<float> weight;
    if (!block.norm_weights || !block.qk_norm_weights) {
      weight.assign(static_cast<size_t>(n), 1.0F);
    } else if (plan.qk_norm == QkNorm::own_heads && !source_.has(name + ".weight")) {
      for (int64_t head = 0; head < n / plan.head_dim; ++head) {
        const std::vector<float> own =
            TRY(source_.norm(fmt::format("{}.{}.weight", name, head), plan.head_dim));
        weight.insert(weight.end(), own.begin(), own.end());
      }
    } else {
      weight = TRY(source_.norm(name + ".weight", n));
    }
    const Role role = row.role == NormRole::q ? Role::q : Role::k;
    const bool moves = m_.file->rope_order() == RopeOrder::neighbours;
    if (moves) rotate_as_halves(weight, role, plan, m_.rope);
    norm.weight = TRY(source_.upload(std::move(weight)));
    if (block.norm != Norm::layer || !block.norm_biases || !block.qk_norm_biases) return {};
    std::vector<float> bias = TRY(source_.vector(name + ".bias", n));
    if (moves) rotate_as_halves(bias, role, plan, m_.rope);
    norm.bias = TRY(source_.upload(std::move(bias)));
    return {};
  }

  Status bind_experts(const RoleRow& row, const LayerPlan& plan, Linear& linear) {
    if (source_.skips_experts()) return {};
    const int64_t n_out = plan.extent(row.n_out);
    const int64_t n_in = plan.extent(row.n_in);
    const int64_t n = plan.n_matrices(row.role);
    const std::string stack = name_of(row.tensor);
    const bool is_stacked = source_.has(stack) || (m_.file->container() == "gguf" &&
                                                   !source_.has(name_of_expert(row, 0)));
    // Files may have the gates of each expert, followed by its up matrix, in one.
    const std::string both = name_of("ffn_gate_up_exps");
    if (row.role != Role::expert_down && source_.has(both)) {
      const int64_t first = row.role == Role::expert_gate ? 0 : n_out;
      for (int64_t e = 0; e < n; ++e) {
        const MatrixRows rows = TRY(source_.of_stack(both, e, n, 2 * n_out, n_in));
        linear.experts.push_back(TRY(source_.pack(rows.part(first, n_out))));
      }
      return {};
    }
    for (int64_t e = 0; e < n; ++e) {
      linear.experts.push_back(
          TRY(source_.pack(TRY(is_stacked ? source_.of_stack(stack, e, n, n_out, n_in)
                                          : source_.matrix(name_of_expert(row, e), n_out, n_in)))));
    }
    const std::vector<float> biases = TRY(bias(row, row.tensor, n * n_out));
    for (auto at = biases.begin(); at != biases.end(); at += n_out) {
      linear.expert_biases.push_back(TRY(source_.upload({at, at + n_out})));
    }
    return {};
  }

  // A GGUF file has it or not; a config says whether its class has it.
  Status bind_choice_bias(const LayerPlan& plan, LayerWeights& w) {
    const std::string name = prefix_ + "exp_probs_b.bias";
    const MetaValue* const value = m_.file->find("expert_choice_bias");
    const bool* const said = value == nullptr ? nullptr : std::get_if<bool>(value);
    if (!(said != nullptr ? *said : source_.has(name))) return {};
    w.choice_bias = TRY(source_.upload(TRY(source_.vector(name, plan.n_experts))));
    return {};
  }

  // The matrix; its bias, still on the host, goes to `numbers`.
  Status bind_linear(const RoleRow& row, const LayerPlan& plan, Linear& linear,
                     std::vector<float>& numbers) {
    MatrixRows rows;
    if (row.role == Role::delta_in && !source_.has(name_of(row.tensor)) &&
        source_.has(name_of("attn_q"))) {
      rows = TRY(queries_keys_values(plan));
    } else if (const FusedRow* const fused = fused_row_of(row.role, plan); fused != nullptr) {
      TRY(read_fused(*fused, row, plan));
      rows = part_of_fused(*fused, row.role, plan, numbers);
    } else {
      const int64_t n_out = plan.extent(row.n_out);
      rows = TRY(source_.matrix(name_of(tensor_of(row, plan)), n_out, plan.extent(row.n_in)));
      numbers = TRY(bias(row, row.tensor, n_out));
    }
    if (is_rotated(row.role, plan) && m_.file->rope_order() == RopeOrder::neighbours) {
      rotate_as_halves(rows.rows, row.role, plan, m_.rope);
      rotate_as_halves(numbers, row.role, plan, m_.rope);
    }
    const bool exact = decides(row.role) && rows.dtype != DType::f32;
    linear.weight = TRY(source_.pack(exact ? TRY(source_.as_f32(rows)) : rows));
    return {};
  }

  // Linear attention whose queries, keys and values are matrices of their own.
  Result<MatrixRows> queries_keys_values(const LayerPlan& plan) {
    const int64_t n_keys = plan.delta.n_keys * plan.delta.key_dim;
    MatrixRows rows = TRY(source_.matrix(name_of("attn_q"), n_keys, plan.n_embd));
    const std::pair<std::string_view, int64_t> others[] = {{"attn_k", n_keys},
                                                           {"attn_v", plan.delta.n_inner()}};
    for (const auto& [tensor, n] : others) {
      const MatrixRows more = TRY(source_.matrix(name_of(tensor), n, plan.n_embd));
      if (more.dtype != rows.dtype) {
        return fail(Code::unsupported, "{}: tensor '{}' is of another type than those beside it",
                    m_.file->path(), name_of(tensor));
      }
      rows.rows.insert(rows.rows.end(), more.rows.begin(), more.rows.end());
      rows.made.insert(rows.made.end(), more.made.begin(), more.made.end());
    }
    return rows;
  }

  std::string name_of(std::string_view tensor) const {
    return fmt::format("{}{}.weight", prefix_, tensor);
  }

  std::string name_of_expert(const RoleRow& row, int64_t expert) const {
    return fmt::format("{}{}.{}.weight", prefix_, row.of_experts, expert);
  }

  // The fused matrix that holds the role in this file; null: it has a tensor of its own.
  const FusedRow* fused_row_of(Role role, const LayerPlan& plan) const {
    for (const FusedRow& fused : fused_rows()) {
      const std::string_view own = role_rows()[static_cast<size_t>(fused.sign)].tensor;
      if (std::ranges::count(fused.parts, role) == 0 || !plan.has(fused.sign)) continue;
      const bool is_only_form = own == fused.tensor;
      if (is_only_form || (source_.has(name_of(fused.tensor)) && !source_.has(name_of(own)))) {
        return &fused;
      }
    }
    return nullptr;
  }

  // Read once for all parts, since a transposed one is copied. `row`: of any part.
  Status read_fused(const FusedRow& fused, const RoleRow& row, const LayerPlan& plan) {
    if (fused_.row == &fused) return {};
    // Converters copy such matrices, whose gates are in the second half, to files that readers take
    // for those with the gates in the first.
    if (plan.sums_twice && fused.sign == Role::gate) {
      return fail(
          Code::unsupported,
          "{}: tensor '{}' has two matrices, in an order that the file does not say; convert "
          "the folder of the model with quantize",
          m_.file->path(), name_of(fused.tensor));
    }
    int64_t n_out = 0;
    for (const Role part : fused.parts) n_out += n_rows_of(part, plan);
    fused_.rows = TRY(source_.matrix(name_of(fused.tensor), n_out, plan.extent(row.n_in)));
    fused_.bias = TRY(bias(row, fused.tensor, n_out));
    if (fused.parts.front() == Role::q) {
      const HeadCounts counts = {plan.n_heads, plan.n_kv_heads, plan.head_dim};
      put_one_after_another(fused_.rows.rows, m_.file->qkv_rows(), counts);
      put_one_after_another(fused_.bias, m_.file->qkv_rows(), counts);
    }
    fused_.row = &fused;
    return {};
  }

  MatrixRows part_of_fused(const FusedRow& fused, Role role, const LayerPlan& plan,
                           std::vector<float>& bias) const {
    const std::vector<int64_t> rows = rows_in_fused(fused, role, plan);
    if (!fused_.bias.empty()) {
      for (const int64_t row : rows) bias.push_back(fused_.bias[static_cast<size_t>(row)]);
    }
    return fused_.rows.pick(rows);
  }

  // "blk.3.attn_q.bias": some layer has this bias.
  void note_bias(std::string_view name) {
    const size_t dot = name.starts_with("blk.") ? name.find('.', 4) : name.npos;
    if (dot != name.npos && name.ends_with(".bias")) biases_.emplace(name.substr(dot + 1));
  }

  // What the file says under the role's key counts, true or false. Where it says nothing (GGUF), a
  // bias that one layer has all layers have.
  Result<std::vector<float>> bias(const RoleRow& row, std::string_view tensor, int64_t n) const {
    if (row.bias_key.empty() && row.must_have_bias == nullptr) return std::vector<float>();
    const std::string ending = fmt::format("{}.bias", tensor);
    const MetaValue* const value = m_.file->find(row.bias_key);
    const bool* const said = value == nullptr ? nullptr : std::get_if<bool>(value);
    const bool required = m_.family->block.*row.must_have_bias || biases_.contains(ending);
    const bool always = row.role == Role::down && m_.family->block.down_bias;
    if (!always && !(said != nullptr ? *said : required)) return std::vector<float>();
    return source_.vector(prefix_ + ending, n);
  }

  struct Fused {
    const FusedRow* row = nullptr;  // null: none was read in this layer
    MatrixRows rows;
    std::vector<float> bias;
  };

  Model& m_;
  WeightSource& source_;
  std::string prefix_;
  Fused fused_;
  DistanceRows distance_rows_;
  std::set<std::string, std::less<>> biases_;
};

}  // namespace

Status bind_weights(Model& model, WeightSource& source) { return Binder(model, source).run(); }

Status bind_draft_head(Model& model, WeightSource& source) {
  return Binder(model, source).bind_head();
}

}  // namespace ruv
