// Generations differ in which tensors they have; names are those of GGUF files.
#include "model/bind_time_mix.h"

#include "base/elementary.h"

namespace ruv {
namespace {

class TimeMixBinder {
 public:
  TimeMixBinder(const Model& model, WeightSource& source, const std::string& prefix, int64_t layer)
      : m_(model),
        source_(source),
        prefix_(prefix),
        layer_(layer),
        plan_(model.plans[static_cast<size_t>(layer)]),
        n_embd_(plan_.n_embd),
        n_inner_(plan_.time_mix.n_inner) {}

  Status run(TimeMixWeights& w) {
    switch (plan_.time_mix.kind) {
      case TimeMix::none:
        return {};
      case TimeMix::averages:
        TRY(bind_shares(w, {TimeShare::r, TimeShare::k, TimeShare::v}));
        TRY(bind_decay(w));
        break;
      case TimeMix::matrices:
        TRY(bind_shares(w, {TimeShare::r, TimeShare::k, TimeShare::v, TimeShare::g}));
        TRY(bind_decay(w));
        break;
      case TimeMix::dynamic:
        TRY(bind_dynamic(w));
        break;
      case TimeMix::corrected:
        TRY(bind_corrected(w));
        break;
    }
    if (plan_.time_mix.head_dim > 0) {
      w.norm.weight = TRY(vector("time_mix_ln.weight", n_inner_));
      w.norm.bias = TRY(vector("time_mix_ln.bias", n_inner_));
    }
    w.channel_share_k = TRY(share("channel_mix_lerp_k", n_embd_));
    if (plan_.has(Role::channel_r)) w.channel_share_r = TRY(share("channel_mix_lerp_r", n_embd_));
    return {};
  }

 private:
  Result<Vector> vector(std::string_view tensor, int64_t n) {
    return source_.upload(TRY(source_.vector(prefix_ + std::string(tensor), n)));
  }

  // The first two generations store the share of the own row, the others that of the row before.
  std::vector<float> of_row_before(std::vector<float> shares) const {
    const bool own =
        plan_.time_mix.kind == TimeMix::averages || plan_.time_mix.kind == TimeMix::matrices;
    if (own) {
      for (float& x : shares) x = 1 - x;
    }
    return shares;
  }
  Result<Vector> share(std::string_view tensor, int64_t n) {
    return source_.upload(
        of_row_before(TRY(source_.vector(fmt::format("{}{}.weight", prefix_, tensor), n))));
  }
  Status bind_shares(TimeMixWeights& w, std::initializer_list<TimeShare> shares) {
    constexpr std::array<std::string_view, kTimeShares> kNames = {
        "time_mix_lerp_r", "time_mix_lerp_w", "time_mix_lerp_k",
        "time_mix_lerp_v", "time_mix_lerp_a", "time_mix_lerp_g"};
    for (const TimeShare of : shares) {
      w.shares[static_cast<size_t>(of)] = TRY(share(kNames[static_cast<size_t>(of)], n_embd_));
    }
    return {};
  }
  // All shares of a layer as one tensor, in this order.
  Status bind_fused_shares(TimeMixWeights& w, std::initializer_list<TimeShare> shares) {
    const std::vector<float> all =
        TRY(source_.vector(prefix_ + "time_mix_lerp_fused.weight", std::ssize(shares) * n_embd_));
    auto at = all.begin();
    for (const TimeShare of : shares) {
      w.shares[static_cast<size_t>(of)] = TRY(source_.upload(std::vector<float>(at, at + n_embd_)));
      at += n_embd_;
    }
    return {};
  }

  // Checkpoints of the first generation have the logarithm of what exponents lose.
  Status bind_decay(TimeMixWeights& w) {
    std::vector<float> decay = TRY(source_.vector(prefix_ + "time_mix_decay.weight", n_inner_));
    if (m_.file->container() == "safetensors") {
      for (float& x : decay) x = static_cast<float>(-exact_exp(double{x}));
    }
    w.decay = TRY(source_.upload(std::move(decay)));
    w.bonus = TRY(vector("time_mix_first.weight", n_inner_));
    return {};
  }

  // A matrix of any number of rows, or of columns.
  Result<Linear> linear(std::string_view tensor, int64_t n_out, int64_t n_in) {
    Linear result;
    result.weight = TRY(source_.pack(
        TRY(source_.matrix(fmt::format("{}{}.weight", prefix_, tensor), n_out, n_in))));
    return result;
  }
  // down: (rank, n_embd); up: (n_out, rank), with a bias if it has a name.
  Status bind_low_rank(LowRankPair& pair, std::string_view down, std::string_view up,
                       std::string_view bias, int64_t n_out) {
    pair.down = TRY(linear(down, -1, n_embd_));
    pair.up = TRY(linear(up, n_out, pair.down.weight.n_out));
    if (!bias.empty()) pair.up.bias = TRY(vector(fmt::format("{}.weight", bias), n_out));
    return {};
  }

  Status bind_corrected(TimeMixWeights& w) {
    TRY(bind_fused_shares(
        w, {TimeShare::r, TimeShare::w, TimeShare::k, TimeShare::v, TimeShare::a, TimeShare::g}));
    TRY(bind_low_rank(w.decays, "time_mix_w1", "time_mix_w2", "time_mix_w0", n_inner_));
    TRY(bind_low_rank(w.rates, "time_mix_a1", "time_mix_a2", "time_mix_a0", n_inner_));
    TRY(bind_low_rank(w.gates, "time_mix_g1", "time_mix_g2", "", n_inner_));
    // Files may have them in the first layer, too, where there is nothing to mix with.
    if (layer_ > 0 || source_.has(prefix_ + "time_mix_v1.weight")) {
      TRY(bind_low_rank(w.value_shares, "time_mix_v1", "time_mix_v2", "time_mix_v0", n_inner_));
    }
    w.removed_key = TRY(vector("time_mix_k_k.weight", n_inner_));
    w.key_share = TRY(vector("time_mix_k_a.weight", n_inner_));
    w.bonus = TRY(vector("time_mix_r_k.weight", n_inner_));
    return {};
  }

  Status bind_dynamic(TimeMixWeights& w) {
    TRY(bind_fused_or_single_shares(w));
    w.first_share = TRY(share("time_mix_lerp_x", n_embd_));
    w.shares_down = TRY(linear("time_mix_w1", -1, n_embd_));
    TRY(bind_share_matrices(w));
    TRY(bind_low_rank(w.decays, "time_mix_decay_w1", "time_mix_decay_w2", "time_mix_decay",
                      n_inner_));
    w.bonus = TRY(vector("time_mix_first.weight", n_inner_));
    return {};
  }
  Status bind_fused_or_single_shares(TimeMixWeights& w) {
    const auto order = {TimeShare::w, TimeShare::k, TimeShare::v, TimeShare::r, TimeShare::g};
    if (source_.has(prefix_ + "time_mix_lerp_fused.weight")) return bind_fused_shares(w, order);
    return bind_shares(w, order);
  }
  // Five matrices (n_embd, rank), each for its own part of the row of all ranks. They become as
  // wide as the row, with zeros for the parts of the others.
  Status bind_share_matrices(TimeMixWeights& w) {
    const auto order = {TimeShare::w, TimeShare::k, TimeShare::v, TimeShare::r, TimeShare::g};
    const int64_t n_ranks = w.shares_down.weight.n_out;
    const int64_t rank = n_ranks / 5;
    const std::string name = prefix_ + "time_mix_w2.weight";
    if (rank * 5 != n_ranks) {
      return fail(Code::corrupt, "{}: tensor '{}': {} rows are not five equal parts",
                  m_.file->path(), prefix_ + "time_mix_w1.weight", n_ranks);
    }
    const std::vector<float> all = TRY(source_.vector(name, n_ranks * n_embd_));
    size_t part = 0;
    for (const TimeShare of : order) {
      MatrixRows wide{fmt::format("{}[{}]", name, part), DType::f32, n_ranks, {}, nullptr};
      wide.owned = std::make_shared<Buffer>(
          TRY(Buffer::allocate(n_embd_ * n_ranks * int64_t{sizeof(float)})));
      auto* const numbers = wide.owned->as<float>();
      std::fill_n(numbers, n_embd_ * n_ranks, 0.0F);
      for (int64_t i = 0; i < n_embd_; ++i) {
        const auto first = static_cast<int64_t>(part) * rank;
        const auto from = all.begin() + (first * n_embd_ + i * rank);
        std::copy(from, from + rank, numbers + i * n_ranks + first);
        wide.rows.push_back(reinterpret_cast<const std::byte*>(numbers + i * n_ranks));
      }
      Linear& linear = w.shares_up[static_cast<size_t>(of)];
      linear.weight = TRY(source_.pack(wide));
      linear.bias = w.shares[static_cast<size_t>(of)];
      ++part;
    }
    return {};
  }

  const Model& m_;
  WeightSource& source_;
  const std::string& prefix_;
  int64_t layer_;
  const LayerPlan& plan_;
  int64_t n_embd_;
  int64_t n_inner_;
};

}  // namespace

Status bind_time_mix(const Model& model, WeightSource& source, const std::string& prefix,
                     int64_t layer, TimeMixWeights& weights) {
  return TimeMixBinder(model, source, prefix, layer).run(weights);
}

}  // namespace ruv
