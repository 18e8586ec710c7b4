#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/allocation.h"
#include "train/draw_weights.h"

namespace ruv {
namespace {

// Numbers of the options that make no sense.
Status check(const TrainOptions& options) {
  TRY(check(options.rate));
  TRY(check(options.optimiser));
  if (options.n_threads < 0 || options.max_rows < 1 || options.checkpoint_entries < 0) {
    return fail(Code::invalid, "training: {} threads, {} rows, checkpoints of {} entries",
                options.n_threads, options.max_rows, options.checkpoint_entries);
  }
  if (options.fresh && options.adapter) {
    return fail(Code::invalid, "training: an adapter of weights that have learned nothing");
  }
  if (!(options.greatest_norm >= 0)) {
    return fail(Code::invalid, "training: the greatest norm is {}", options.greatest_norm);
  }
  return {};
}

// What a step's sequences have to learn.
struct StepTargets {
  int64_t n = 0;
  double weight = 0;
};

// The loss is a mean over the targets of all parts of a step. Fails: invalid (there is none).
Result<StepTargets> targets_of(std::span<const TrainSequence> sequences) {
  StepTargets targets;
  for (const TrainSequence& sequence : sequences) {
    targets.n += sequence.n_targets();
    targets.weight += sequence.weight_sum();
  }
  if (targets.n > 0 && std::isfinite(1 / targets.weight)) return targets;
  return fail(Code::invalid, "training: no token is to be learned");
}

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::create(const std::string& path,
                                                 const TrainOptions& options) {
  TRY(check(options));
  std::unique_ptr<Trainer> trainer(new Trainer(options));
  TRY(trainer->prepare(path));
  return trainer;
}

// A draft head is not trained, and would change none of the model's logits.
Status Trainer::prepare(const std::string& path) {
  LoadOptions load;
  load.n_threads = options_.n_threads;
  load.draft_head = false;
  model_ = TRY(load_model_on(device_, path, load));
  const auto by_default = [all = !options_.adapter](std::string_view) { return all; };
  parameters_ = TRY(Parameters<float>::choose(
      *model_, *device_,
      options_.trains ? options_.trains : std::function<bool(std::string_view)>(by_default)));
  if (options_.fresh) TRY(draw_weights(*model_, parameters_, *options_.fresh));
  if (options_.adapter) {
    adapter_ =
        TRY(TrainedAdapter<float>::create(*model_, *device_, *options_.adapter, parameters_));
  }
  if (parameters_.all().empty()) {
    return fail(Code::invalid, "{}: nothing of it is to be trained", path);
  }
  optimiser_ = TRY(Optimiser::create(parameters_.all(), options_.optimiser, pool_));
  activations_ = TRY(Activations::create(*model_, options_.max_rows, options_.max_rows,
                                         adapter_ ? adapter_->adapter().max_rank() : 0));
  ops_ = device_->make_ops(pool_);
  return {};
}

// Memory of the tape is the standard library's, which reports that it ran out by an exception.
Result<double> Trainer::compute(const TrainBatch& batch, bool learns, double scale) {
  double sum = 0;
  device_->forgive();
  const bool had_memory = try_allocating([&] {
    if (learns) device_->tape().record(options_.checkpoint_entries);
    const auto output =
        decode(*ops_, *model_, batch.rows.batch(), *activations_, options_.max_rows);
    if (!device_->failure().ok()) return;
    const Adjoined<float> logits = device_->memory().numbers(output->logits, learns);
    sum = cross_entropy(logits, {batch.targets, batch.weights}, scale, pool_);
    if (learns) device_->tape().backward();
  });
  device_->tape().stop();
  device_->tape().clear();
  if (!had_memory) return fail(Code::out_of_memory, "training: no memory for the step");
  TRY(device_->failure());
  return sum;
}

Result<std::vector<TrainBatch>> Trainer::batches_of(
    std::span<const TrainSequence> sequences) const {
  return make_batches(sequences, {options_.max_rows, model_->h.n_vocab},
                      adapter_ ? adapter_->mix() : AdapterMix());
}

// Gradients are the sums over all parts before any parameter changes.
Result<StepReport> Trainer::step(std::span<const TrainSequence> sequences) {
  const std::vector<TrainBatch> batches = TRY(batches_of(sequences));
  const StepTargets targets = TRY(targets_of(sequences));
  StepReport report{.step = n_steps_ + 1, .n_targets = targets.n, .weight = targets.weight};
  const double scale = 1 / targets.weight;
  parameters_.clear_gradients();
  double sum = 0;
  for (const TrainBatch& batch : batches) {
    sum += TRY(compute(batch, true, scale));
    report.kept_bytes = std::max(report.kept_bytes, device_->tape().kept().peak());
  }
  report.loss = sum * scale;
  report.gradient_norm = gradient_norm<float>(parameters_.all(), pool_);
  report.rate = rate_at(options_.rate, n_steps_);
  if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm)) {
    return fail(Code::invalid, "training: step {} has a loss of {} and a gradient of norm {}",
                report.step, report.loss, report.gradient_norm);
  }
  const bool clips = options_.greatest_norm > 0 && report.gradient_norm > options_.greatest_norm;
  const double factor = clips ? options_.greatest_norm / report.gradient_norm : 1;
  optimiser_->step(parameters_.all(), report.step, report.rate, factor);
  ++n_steps_;
  return report;
}

// Without recording, so that nothing is kept.
Result<double> Trainer::loss(std::span<const TrainSequence> sequences) {
  const std::vector<TrainBatch> batches = TRY(batches_of(sequences));
  const StepTargets targets = TRY(targets_of(sequences));
  double sum = 0;
  for (const TrainBatch& batch : batches) {
    sum += TRY(compute(batch, false, 0));
  }
  return sum / targets.weight;
}

int64_t Trainer::n_bytes() const {
  return device_->memory().n_bytes() + device_->matrices().n_bytes() + optimiser_->n_bytes();
}

// Gradients are not kept: a step makes them anew.
TrainState Trainer::state(std::span<const RunFact> facts) const {
  TrainState state{.n_steps = n_steps_, .facts = facts, .numbers = {}};
  const std::span<const Parameter<float>> all = parameters_.all();
  for (size_t i = 0; i < all.size(); ++i) {
    state.numbers.push_back(
        {all[i].name, {all[i].values, optimiser_->first(i), optimiser_->second(i)}});
  }
  return state;
}

Status Trainer::save(const std::string& path, std::span<const RunFact> facts) const {
  return write_train_state(path, state(facts));
}

Status Trainer::resume(const std::string& path, std::span<const RunFact> facts) {
  TrainState read = state(facts);
  TRY(read_train_state(path, read));
  n_steps_ = read.n_steps;
  return {};
}

}  // namespace ruv
