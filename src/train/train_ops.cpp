#include "train/train_ops.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/elementary.h"
#include "train/convolve_entries.h"
#include "train/delta_entry.h"
#include "train/expert_entries.h"
#include "train/pointwise.h"
#include "train/weight_entries.h"

namespace ruv {

template <class T>
TrainOps<T>::TrainOps(TrainDevice<T>& device, WorkerPool& pool, const Kernels& kernels,
                      FactorPrecision precision)
    : device_(device),
      pool_(pool),
      products_(pool, kernels, precision),
      team_{pool, products_, device.tape().kept(), kernels} {}

template <class T>
template <class Entry, class... Args>
void TrainOps<T>::run(Args&&... args) {
  if (is_over()) return;
  device_.tape().run(std::make_unique<Entry>(team_, std::forward<Args>(args)...));
}

// The first refusal of a step is the one that is reported.
template <class T>
void TrainOps<T>::refuse(std::string_view operation) {
  device_.refuse(Status(Code::unsupported,
                        fmt::format("training: operation '{}' has no derivative yet", operation)));
}

// Only where a step is recorded are there adjoints.
template <class T>
Adjoined<T> TrainOps<T>::numbers(View view) {
  const bool records = device_.tape().is_recording();
  const Adjoined<T> found = device_.memory().numbers(view, records);
  if (records && !found.empty() && found.adjoints == nullptr) {
    device_.refuse(Status(Code::out_of_memory, "training: no memory for adjoints"));
  }
  return found;
}

template <class T>
Adjoined<T> TrainOps<T>::numbers(const Vector* vector) const {
  if (vector == nullptr || vector->empty()) return {};
  return device_.memory().numbers(*vector);
}

// Angles are float32 products, as every device computes them.
template <class T>
void TrainOps<T>::begin(const Batch& batch, std::span<const RopePlan> plans) {
  batch_ = &batch;
  turns_.clear();
  kv_rows_.clear();
  for (const BatchSequence& sequence : batch.sequences) {
    const bool whole = sequence.first_position == 0 && sequence.state_outs.empty();
    if (!whole || sequence.n_source > 0) {
      device_.refuse(Status(Code::unsupported,
                            "training: a step has whole sequences, from their "
                            "first token, and no source texts"));
    }
  }
  for (const RopePlan& plan : plans) {
    auto turns = std::make_shared<RopeTurns>();
    turns->n_pairs = std::ssize(plan.inv_freq);
    for (const Position& position : batch.positions) {
      for (size_t i = 0; i < plan.inv_freq.size(); ++i) {
        const int32_t at = position[plan.axes.empty() ? 0 : plan.axes[i]];
        const SinCos turn = exact_sin_cos(double{static_cast<float>(at) * plan.inv_freq[i]});
        turns->cos.push_back(turn.cos * double{plan.magnitude});
        turns->sin.push_back(turn.sin * double{plan.magnitude});
      }
    }
    turns_[&plan] = std::move(turns);
  }
}

// Tokens were checked when the batch was made.
template <class T>
void TrainOps<T>::embed(View out, const Weight& table, std::span<const int32_t> tokens,
                        float scale) {
  run<LookupEntry<T>>(numbers(out), matrix(table), std::vector(tokens.begin(), tokens.end()),
                      typename LookupEntry<T>::Form{false, double{scale}});
}

// A table of learned positions is looked up as one of tokens is.
template <class T>
void TrainOps<T>::add_embedding(View x, const Weight& table, std::span<const Position> positions) {
  std::vector<int32_t> rows;
  rows.reserve(positions.size());
  for (const Position& position : positions) rows.push_back(position[0]);
  add_rows(x, table, rows);
}

template <class T>
void TrainOps<T>::add_rows(View x, const Weight& table, std::span<const int32_t> rows) {
  run<LookupEntry<T>>(numbers(x), matrix(table), std::vector(rows.begin(), rows.end()),
                      typename LookupEntry<T>::Form{true, 1});
}

template <class T>
void TrainOps<T>::copy(View out, View x) {
  run<CopyEntry<T>>(numbers(out), numbers(x));
}

// add_norm is this after a sum, as its meaning says.
template <class T>
void TrainOps<T>::norm(View out, View x, const Vector& weight, const Vector& bias,
                       NormParams params) {
  run<NormEntry<T>>(numbers(out), numbers(x), numbers(&weight), numbers(&bias), params);
}

// One product is a list of one.
template <class T>
void TrainOps<T>::matmul(View out, View x, const Weight& weight, const Vector& bias) {
  const Product product{out, &weight, &bias};
  matmul_each({&product, 1}, x);
}

// Products of one x keep one copy of it.
template <class T>
void TrainOps<T>::matmul_each(std::span<const Product> products, View x) {
  std::vector<typename ProductsEntry<T>::Part> parts;
  for (const Product& p : products) {
    parts.push_back({numbers(p.out), &matrix(*p.weight), numbers(p.bias), p.first_row});
  }
  run<ProductsEntry<T>>(numbers(x), std::move(parts));
}

template <class T>
void TrainOps<T>::matmul_heads(View out, View x, std::span<const Weight> heads) {
  std::vector<TrainMatrix<T>*> matrices;
  for (const Weight& head : heads) matrices.push_back(&matrix(head));
  run<HeadProductsEntry<T>>(numbers(out), numbers(x), std::move(matrices));
}

// Tables were made by begin(), which the decoder calls with all plans of the model.
template <class T>
void TrainOps<T>::rope(View x, int64_t head_dim, const RopePlan& plan) {
  const auto found = turns_.find(&plan);
  CHECK(found != turns_.end());  // begin() was given the plan
  run<RopeEntry<T>>(numbers(x), head_dim, found->second);
}

// The factors are numbers of the step and have no derivative.
template <class T>
void TrainOps<T>::scale_by_position(View x, const PositionScale& scale) {
  std::vector<double> factors;
  for (const Position& position : batch_->positions) {
    const auto spans = static_cast<double>((position[0] + scale.offset) / scale.span);
    factors.push_back(1 + double{scale.slope} * exact_log(1 + spans));
  }
  run<ScaleEntry<T>>(numbers(x), std::move(factors));
}

template <class T>
void TrainOps<T>::join(View out, View a, View b) {
  run<JoinEntry<T>>(numbers(out), numbers(a), numbers(b));
}

// What the layer kept in an earlier step is no longer read: its memory is used again.
template <class T>
void TrainOps<T>::store_kv(int64_t layer, View k, View v, const Vector& /*key_centre*/) {
  if (is_over()) return;
  LayerRows& kept = kv_[layer];
  for (const auto& [memory, view] : {std::pair(&kept.k, k), std::pair(&kept.v, v)}) {
    if (memory->n_bytes >= view.n_bytes()) continue;
    Result<DeviceMemory> made = device_.allocate(view.n_bytes());
    if (!made) return device_.refuse(made.error());
    *memory = std::move(*made);
  }
  const KvRows<T> rows = {numbers(View{kept.k.start, k.n_rows, k.n_cols}),
                          numbers(View{kept.v.start, v.n_rows, v.n_cols})};
  kv_rows_[layer] = rows;
  run<StoreKvEntry<T>>(rows, numbers(k), numbers(v));
}

// Keys are those of the same step, of this layer or of the one whose keys it shares.
template <class T>
void TrainOps<T>::attend(View out, View q, const AttendParams& params) {
  if (params.of_source || params.chosen.n_cols > 0) {
    return refuse(params.of_source ? "attend to a source text" : "attend to chosen keys");
  }
  if (is_over()) return;
  const DistanceScores& d = params.distances;
  const auto found = kv_rows_.find(params.layer);
  CHECK(found != kv_rows_.end());  // store_kv comes first
  run<AttendEntry<T>>(
      *batch_, typename AttendEntry<T>::Rows{numbers(out), numbers(q), found->second}, params,
      AttendNumbers<T>{numbers(params.sinks), numbers(d.table), numbers(d.of_query),
                       numbers(d.of_key)});
}

// Shares may be vectors of the model, seen as a view of one row.
template <class T>
void TrainOps<T>::lerp(View out, View x, View y, View share) {
  run<LerpEntry<T>>(numbers(out), numbers(x), numbers(y), numbers(share));
}

template <class T>
void TrainOps<T>::multiply(View x, View y) {
  run<MultiplyEntry<T>>(numbers(x), numbers(y));
}

// Functions of single numbers.
template <class T>
void TrainOps<T>::gate(View gate, View up, Act act) {
  run<GateEntry<T>>(numbers(gate), numbers(up), act);
}

template <class T>
void TrainOps<T>::activate(View x, Act act) {
  run<PointwiseEntry<T, ActPoint>>(numbers(x), ActPoint{act});
}

template <class T>
void TrainOps<T>::xielu(View x, const Xielu& numbers_of) {
  run<PointwiseEntry<T, XieluPoint>>(numbers(x), XieluPoint{numbers_of});
}

// Limits as the CPU device has them: numbers at a limit pass.
template <class T>
void TrainOps<T>::clamp(View x, float limit) {
  run<PointwiseEntry<T, ClampPoint>>(numbers(x), ClampPoint{double{limit}});
}

template <class T>
void TrainOps<T>::softcap(View x, float cap) {
  run<PointwiseEntry<T, CapPoint>>(numbers(x), CapPoint{double{cap}});
}

template <class T>
void TrainOps<T>::scale(View x, float factor) {
  run<ScaleEntry<T>>(numbers(x), std::vector<double>{double{factor}});
}

// A factor of one column for each row.
template <class T>
void TrainOps<T>::scale_rows(View x, View factors) {
  run<MultiplyEntry<T>>(numbers(x), numbers(factors));
}

template <class T>
void TrainOps<T>::scale_columns(View /*x*/, const Vector& /*factors*/, const Vector& /*shifts*/) {
  refuse("scale_columns");
}

template <class T>
void TrainOps<T>::add(View x, View y) {
  run<AddEntry<T>>(numbers(x), numbers(y));
}

template <class T>
void TrainOps<T>::add_vector(View /*x*/, const Vector& /*y*/, float /*factor*/) {
  refuse("add_vector");
}

template <class T>
void TrainOps<T>::add_scaled(View x, View y, const RowFactors& factors) {
  run<AddScaledEntry<T>>(numbers(x), numbers(y),
                         typename AddScaledEntry<T>::Factors{
                             numbers(factors.values), factors.column, double{factors.offset}});
}

template <class T>
void TrainOps<T>::cut_below(View x, float deviations) {
  run<CutBelowEntry<T>>(numbers(x), double{deviations});
}

template <class T>
void TrainOps<T>::match_size(View x, View like, float least) {
  run<MatchSizeEntry<T>>(numbers(x), numbers(like), double{least});
}

// Rows whose logits or states are wanted.
template <class T>
void TrainOps<T>::gather(View out, View x, std::span<const int32_t> rows) {
  run<GatherEntry<T>>(numbers(out), numbers(x), std::vector(rows.begin(), rows.end()));
}

// States of the cache are neither read nor written: sequences are whole.
template <class T>
void TrainOps<T>::short_conv(View out, View bcx, const ShortConvParams& params) {
  run<ShortConvEntry<T>>(*batch_, numbers(out), numbers(bcx),
                         ConvFilter<T>{numbers(params.taps), numbers(params.bias)});
}

template <class T>
void TrainOps<T>::convolve(View x, const ConvolveParams& params) {
  run<ConvolveEntry<T>>(*batch_, numbers(x),
                        ConvFilter<T>{numbers(params.taps), numbers(params.bias)}, params.act);
}

template <class T>
void TrainOps<T>::token_shift(View out, View x, const TokenShiftParams& /*params*/) {
  run<TokenShiftEntry<T>>(*batch_, numbers(out), numbers(x));
}

template <class T>
void TrainOps<T>::gated_recurrence(View x, View input_gate, View decay_gate,
                                   const GatedRecurrenceParams& params) {
  run<RecurrenceEntry<T>>(
      *batch_,
      typename RecurrenceEntry<T>::Rows{numbers(x), numbers(input_gate), numbers(decay_gate)},
      typename RecurrenceEntry<T>::Vectors{numbers(params.input_bias), numbers(params.decay_bias),
                                           numbers(params.rate)});
}

template <class T>
void TrainOps<T>::delta_rule(View out, const DeltaInputs& in, const DeltaRuleParams& params) {
  run<DeltaEntry<T>>(
      *batch_,
      typename DeltaEntry<T>::Rows{numbers(out), numbers(in.qkv), numbers(in.beta),
                                   numbers(in.decay)},
      typename DeltaEntry<T>::Vectors{numbers(params.decay_rate), numbers(params.decay_bias)},
      params);
}

template <class T>
void TrainOps<T>::route(View routes, View logits, const Vector& choice_bias,
                        const RouteParams& params) {
  if (params.score == RouterScore::sparsemixer) return refuse("route by sparsemixer");
  run<RouteEntry<T>>(
      numbers(routes), numbers(logits),
      typename RouteEntry<T>::Vectors{numbers(&choice_bias), numbers(params.expert_scales)},
      params);
}

// The decoder's scratch is not used: inner rows are the entry's own.
template <class T>
void TrainOps<T>::experts(View out, View x, View routes, const ExpertsParams& params) {
  std::vector<typename ExpertsEntry<T>::Expert> experts;
  const auto bias_of = [this](std::span<const Vector> biases, size_t e) {
    return biases.empty() ? Adjoined<T>() : numbers(&biases[e]);
  };
  for (size_t e = 0; e < params.up.size(); ++e) {
    experts.push_back({params.gate.empty() ? nullptr : &matrix(params.gate[e]),
                       &matrix(params.up[e]), &matrix(params.down[e]), bias_of(params.gate_bias, e),
                       bias_of(params.up_bias, e), bias_of(params.down_bias, e)});
  }
  run<ExpertsEntry<T>>(
      typename ExpertsEntry<T>::Rows{numbers(out), numbers(x), numbers(routes)}, std::move(experts),
      typename ExpertsEntry<T>::Form{params.act, params.limits, params.weighs_inputs});
}

// What has no derivative yet.
template <class T>
void TrainOps<T>::choose_keys(View, View, View, const ChooseParams&) {
  refuse("choose_keys");
}
template <class T>
void TrainOps<T>::average(View, View, View, const AverageParams&) {
  refuse("average");
}
template <class T>
void TrainOps<T>::time_mix(View, const TimeMixInputs&, const TimeMixParams&) {
  refuse("time_mix");
}
template <class T>
void TrainOps<T>::matrix_memory(View, const MatrixMemoryInputs&, const MatrixMemoryParams&) {
  refuse("matrix_memory");
}
template <class T>
void TrainOps<T>::scan_columns(View, const ColumnScanInputs&, const ColumnScanParams&) {
  refuse("scan_columns");
}
template <class T>
void TrainOps<T>::scan_heads(View, const HeadScanInputs&, const HeadScanParams&) {
  refuse("scan_heads");
}

template class TrainOps<float>;
template class TrainOps<double>;

}  // namespace ruv
