// Streams beside each other (model/stream_plan.h), and what is beside attention with them.
#include <cmath>
#include <limits>
#include <numbers>

#include "model/hparams.h"
#include "model/layer_step.h"

namespace ruv {
namespace {

// The mean square of a stream's row counts as this at least when it is made as large as another.
constexpr float kLeastMeanSquare = 1e-5F;
// Far above any real model; a row of the coefficients has the square.
constexpr int64_t kMostStreams = 64;

// Stream i of a view with all of them.
View stream_of(View all, int64_t i, View like) {
  return {all.start + i * like.n_bytes(), like.n_rows, like.n_cols};
}

// The coefficients of a role that the stream x gives, by its router.
void route_streams(const LayerStep& step, View x, Role role, View factors) {
  const LayerPlan& p = step.plan();
  const View router = cut(step.a.stream_router, p.streams.n);
  const NormWeights& norm = step.weights()[NormRole::stream_router];
  step.ops.norm(step.a.h2, x, norm.weight, norm.bias, {p.norm, p.norm_eps});
  step.multiply(Role::stream_router, router, step.a.h2);
  step.ops.activate(router, Act::tanh);
  step.multiply(role, factors, router);
}

}  // namespace

Result<StreamPlan> read_streams(const ModelFile& file, const FamilyRecord& family) {
  constexpr std::string_view kCount = "altup.num_inputs", kActive = "altup.active_idx";
  constexpr std::string_view kRank = "laurel.rank", kScales = "altup.correct_scale";
  StreamPlan plan;
  if (!family.block.streams) return plan;
  plan.n = TRY(read_dimension(file, kCount));
  plan.active = TRY(file.integer(kActive));
  if (plan.n > kMostStreams) {
    return fail(Code::corrupt, "{}: '{}' = {} is above {}", file.path(), file.shown_key(kCount),
                plan.n, kMostStreams);
  }
  if (plan.active < 0 || plan.active >= plan.n) {
    return fail(Code::corrupt, "{}: '{}' = {} of {} streams", file.path(), file.shown_key(kActive),
                plan.active, plan.n);
  }
  const TensorInfo* const scale = file.find_tensor("blk.0.altup_correct_scale.weight");
  plan.scales_active = TRY(truth_or(file, kScales, scale != nullptr));
  if (file.find(kRank) != nullptr) {
    plan.low_rank = TRY(read_dimension(file, kRank));
    return plan;
  }
  const TensorInfo* const low = file.find_tensor("blk.0.laurel_l.weight");
  if (low == nullptr || low->shape.empty() || low->shape[0] < 1) {
    return fail(Code::not_found, "{}: tensor 'blk.0.laurel_l.weight' is missing or has no rows",
                file.path());
  }
  plan.low_rank = low->shape[0];
  return plan;
}

Result<std::vector<float>> read_gate_cuts(const ModelFile& file, int64_t n_layers) {
  constexpr std::string_view kKey = "activation_sparsity_scale";
  std::vector<float> cuts;
  for (const double cut : TRY(file.numbers(kKey, static_cast<size_t>(n_layers)))) {
    if (std::isnan(cut) || cut == std::numeric_limits<double>::infinity()) {
      return fail(Code::corrupt, "{}: '{}' has {}", file.path(), file.shown_key(kKey), cut);
    }
    cuts.push_back(static_cast<float>(cut));
  }
  return cuts;
}

void make_streams(Ops& ops, const Model& m, const Activations::Views& a) {
  ops.copy(stream_of(a.streams, 0, a.x), a.x);
  for (int64_t i = 1; i < m.h.streams.n; ++i) {
    const View stream = stream_of(a.streams, i, a.x);
    ops.matmul(stream, a.x, m.streams_in[static_cast<size_t>(i - 1)], {});
    ops.match_size(stream, a.x, kLeastMeanSquare);
  }
}

void predict_streams(const LayerStep& step) {
  const StreamPlan& p = step.plan().streams;
  const Activations::Views& a = step.a;
  const View factors = cut(a.stream_factors, p.n * p.n);
  route_streams(step, stream_of(a.streams, p.active, a.x), Role::stream_predict, factors);
  for (int64_t j = 0; j < p.n; ++j) {
    const View predicted = stream_of(a.predicted, j, a.x);
    step.ops.copy(predicted, stream_of(a.streams, j, a.x));
    for (int64_t i = 0; i < p.n; ++i) {
      step.ops.add_scaled(predicted, stream_of(a.streams, i, a.x), {factors, j * p.n + i, 0});
    }
  }
  step.ops.copy(a.x, stream_of(a.predicted, p.active, a.x));
}

// Uses a.h and a.h2.
void correct_streams(const LayerStep& step) {
  const StreamPlan& p = step.plan().streams;
  const Activations::Views& a = step.a;
  Ops& ops = step.ops;
  const View factors = cut(a.stream_factors, p.n);
  route_streams(step, a.x, Role::stream_correct, factors);
  ops.copy(a.h, stream_of(a.predicted, p.active, a.x));
  ops.scale(a.h, -1);
  ops.add(a.h, a.x);
  for (int64_t j = 0; j < p.n; ++j) {
    const View stream = stream_of(a.streams, j, a.x);
    ops.copy(stream, stream_of(a.predicted, j, a.x));
    ops.add_scaled(stream, a.h, {factors, j, 1});
  }
  const View active = stream_of(a.streams, p.active, a.x);
  ops.copy(a.h2, active);
  if (p.scales_active) {
    const Vector& scale = step.weights().active_scale;
    ops.multiply(a.h2, {scale.memory.start, 1, scale.size()});
  }
  make_layer_input(step, a.h2);
  for (int64_t j = 1; j < p.n; ++j) ops.add(stream_of(a.streams, j, a.x), a.h);
}

void merge_streams(Ops& ops, const Model& m, const Activations::Views& a) {
  const View first = stream_of(a.streams, 0, a.x);
  ops.copy(a.x, first);
  for (int64_t i = 1; i < m.h.streams.n; ++i) {
    ops.matmul(a.h, stream_of(a.streams, i, a.x), m.streams_out[static_cast<size_t>(i - 1)], {});
    ops.match_size(a.h, first, kLeastMeanSquare);
    ops.add(a.x, a.h);
  }
  ops.scale(a.x, 1.0F / static_cast<float>(m.h.streams.n));
}

void make_laurel(const LayerStep& step) {
  const LayerPlan& p = step.plan();
  const View low = cut(step.a.low, p.streams.low_rank);
  const NormWeights& norm = step.weights()[NormRole::beside_post];
  step.multiply(Role::beside_low, low, step.a.h);
  step.multiply(Role::beside_high, step.a.laurel, low);
  step.ops.norm(step.a.laurel, step.a.laurel, norm.weight, norm.bias, {p.norm, p.norm_eps});
  step.ops.add(step.a.laurel, step.a.h);
}

}  // namespace ruv
