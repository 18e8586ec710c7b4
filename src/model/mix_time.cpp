// Time mix and channel mix (model/time_mix.h): rows are mixed with those before them, and what
// comes of them by matrices goes through the operation of the generation.
#include "model/layer_step.h"

namespace ruv {
namespace {

View as_row(const Vector& vector) { return {vector.memory.start, 1, vector.size()}; }

class TimeMixer {
 public:
  explicit TimeMixer(const LayerStep& step)
      : s_(step),
        p_(step.plan()),
        w_(step.weights().time_mix),
        h_(step.a.h),
        before_(cut(step.a.mixed[0], p_.n_embd)),
        x_(cut(step.a.mixed[1], p_.n_embd)),
        r_(inner(2)),
        k_(inner(3)),
        v_(inner(4)),
        decay_(inner(5)),
        rate_(inner(6)),
        gate_(inner(7)),
        first_v_(inner(8)) {}

  void run() {
    s_.ops.token_shift(before_, h_, {.layer = s_.layer, .state_begin = 0});
    switch (p_.time_mix.kind) {
      case TimeMix::none:
        break;
      case TimeMix::averages:
        return run_averages();
      case TimeMix::matrices:
        multiply_all();
        mix_heads(as_row(w_.decay), TimeDecay::given, Act::silu);
        break;
      case TimeMix::dynamic:
        make_shares();
        multiply_all();
        take(TimeShare::w);
        low_rank(decay_, x_, w_.decays, Act::tanh);
        mix_heads(decay_, TimeDecay::rates, Act::silu);
        break;
      case TimeMix::corrected:
        run_corrected();
        break;
    }
  }

 private:
  View inner(size_t i) const { return cut(s_.a.mixed[i], p_.time_mix.n_inner); }

  // x_: the rows mixed with those before them, for this use.
  void take(TimeShare of) {
    const auto i = static_cast<size_t>(of);
    const bool dynamic = p_.time_mix.kind == TimeMix::dynamic;
    if (dynamic) s_.ops.matmul(x_, low_, w_.shares_up[i].weight, w_.shares_up[i].bias);
    s_.ops.lerp(x_, h_, before_, dynamic ? x_ : as_row(w_.shares[i]));
  }
  void product_of(TimeShare of, Role role, View out) {
    take(of);
    s_.multiply(role, out, x_);
  }
  void multiply_all() {
    product_of(TimeShare::r, Role::time_r, r_);
    product_of(TimeShare::k, Role::time_k, k_);
    product_of(TimeShare::v, Role::time_v, v_);
    if (p_.has(Role::time_g)) product_of(TimeShare::g, Role::time_g, gate_);
  }
  // out = up · act(down · x)
  void low_rank(View out, View x, const LowRankPair& pair, std::optional<Act> act) {
    const View low = cut(s_.a.low, pair.down.weight.n_out);
    s_.ops.matmul(low, x, pair.down.weight, pair.down.bias);
    if (act) s_.ops.activate(low, *act);
    s_.ops.matmul(out, low, pair.up.weight, pair.up.bias);
  }
  void make_shares() {
    s_.ops.lerp(x_, h_, before_, as_row(w_.first_share));
    low_ = cut(s_.a.low_shares, w_.shares_down.weight.n_out);
    s_.ops.matmul(low_, x_, w_.shares_down.weight, w_.shares_down.bias);
    s_.ops.activate(low_, Act::tanh);
  }

  int64_t state_begin() const { return 2 * p_.n_embd; }
  // gate: what the results are multiplied by, after this function; none: as it is.
  void mix_heads(View decay, TimeDecay kind, std::optional<Act> gate) {
    const bool corrects = p_.time_mix.kind == TimeMix::corrected;
    s_.ops.time_mix(x_inner(), {r_, k_, v_, decay, rate_},
                    {.layer = s_.layer,
                     .state_begin = state_begin(),
                     .head_dim = p_.time_mix.head_dim,
                     .decay = kind,
                     .bonus = &w_.bonus,
                     .removed_key = corrects ? &w_.removed_key : nullptr,
                     .key_share = corrects ? &w_.key_share : nullptr,
                     .norm_weight = &w_.norm.weight,
                     .norm_bias = &w_.norm.bias,
                     .norm_eps = p_.time_mix.norm_eps});
    if (gate) {
      s_.ops.gate(gate_, x_inner(), *gate);
    } else {
      s_.ops.multiply(gate_, x_inner());
    }
    s_.multiply(Role::time_out, h_, gate_);
  }
  View x_inner() const { return inner(1); }

  void run_averages() {
    multiply_all();
    s_.ops.average(
        v_, k_, v_,
        {.layer = s_.layer, .state_begin = state_begin(), .decay = &w_.decay, .bonus = &w_.bonus});
    s_.ops.gate(r_, v_, Act::sigmoid);
    s_.multiply(Role::time_out, h_, r_);
  }

  void run_corrected() {
    multiply_all();
    if (s_.layer == 0) {
      s_.ops.copy(first_v_, v_);
    } else {
      // x_ is still that of v, whose product came last.
      low_rank(rate_, x_, w_.value_shares, std::nullopt);
      s_.ops.activate(rate_, Act::sigmoid);
      s_.ops.lerp(v_, v_, first_v_, rate_);
    }
    take(TimeShare::w);
    low_rank(decay_, x_, w_.decays, Act::tanh);
    take(TimeShare::g);
    low_rank(gate_, x_, w_.gates, Act::sigmoid);
    take(TimeShare::a);
    low_rank(rate_, x_, w_.rates, std::nullopt);
    s_.ops.activate(rate_, Act::sigmoid);
    mix_heads(decay_, TimeDecay::bounded_rates, std::nullopt);
  }

  const LayerStep& s_;
  const LayerPlan& p_;
  const TimeMixWeights& w_;
  View h_, before_, x_, r_, k_, v_, decay_, rate_, gate_, first_v_;
  View low_ = {};  // what all shares are made of
};

}  // namespace

void mix_time(const LayerStep& step) { TimeMixer(step).run(); }

void mix_channels(const LayerStep& step) {
  const LayerPlan& p = step.plan();
  const TimeMixWeights& w = step.weights().time_mix;
  const Activations::Views& a = step.a;
  const View before = cut(a.mixed[0], p.n_embd);
  const View x = cut(a.mixed[1], p.n_embd);
  const View key = cut(a.gate, p.n_ff);
  step.ops.token_shift(before, a.h2, {.layer = step.layer, .state_begin = p.n_embd});
  step.ops.lerp(x, a.h2, before, as_row(w.channel_share_k));
  step.multiply(Role::channel_k, key, x);
  step.ops.activate(key, Act::relu2);
  step.multiply(Role::channel_v, a.h, key);
  if (!p.has(Role::channel_r)) return;
  const View gate = cut(a.mixed[2], p.n_embd);
  step.ops.lerp(x, a.h2, before, as_row(w.channel_share_r));
  step.multiply(Role::channel_r, gate, x);
  step.ops.gate(gate, a.h, Act::sigmoid);
  step.ops.copy(a.h, gate);
}

}  // namespace ruv
