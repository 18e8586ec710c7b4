#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/allocation.h"
#include "train/draw_weights.h"
#include "train/log_probs.h"
#include "train/own_matrix.h"

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
  if (options.n_draft_heads < 0 || options.n_draft_heads > kMostDraftHeads) {
    return fail(Code::invalid, "training: {} drafting heads, of {} at most", options.n_draft_heads,
                kMostDraftHeads);
  }
  if (options.fresh && options.adapter) {
    return fail(Code::invalid, "training: an adapter of weights that have learned nothing");
  }
  if (!(options.greatest_norm >= 0)) {
    return fail(Code::invalid, "training: the greatest norm is {}", options.greatest_norm);
  }
  return {};
}

// Cross entropy, as a mean by the weights of the targets of a step.
class TokenObjective final : public StepObjective {
 public:
  explicit TokenObjective(double weight) : scale_(1 / weight) {}
  Result<double> add(const TrainPart& part) override {
    const RowTargets targets = {part.batch.targets, part.batch.weights};
    return scale_ * cross_entropy(part.logits, targets, scale_, part.pool);
  }

 private:
  double scale_;
};

// Fails: invalid (there is nothing to learn).
Result<TokenObjective> token_objective(std::span<const TrainSequence> sequences) {
  double weight = 0;
  for (const TrainSequence& sequence : sequences) weight += sequence.weight_sum();
  if (weight > 0 && std::isfinite(1 / weight)) return TokenObjective(weight);
  return fail(Code::invalid, "training: no token is to be learned");
}

// Keeps what a step says of its targets.
class LogProbReader final : public StepObjective {
 public:
  explicit LogProbReader(size_t n_sequences) : found(n_sequences) {}
  Result<double> add(const TrainPart& part) override {
    const auto all = target_log_probs(part.logits, part.batch.targets, part.pool);
    for (const SequenceRows& rows : part.batch.sequences) {
      const auto first = all.begin() + rows.first;
      found[rows.number].assign(first, first + rows.n);
    }
    return 0.0;
  }

  std::vector<std::vector<double>> found;
};

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::create(const std::string& path,
                                                 const TrainOptions& options) {
  TRY(check(options));
  std::unique_ptr<Trainer> trainer(new Trainer(options));
  TRY(trainer->prepare(path));
  return trainer;
}

// A draft head that the file brings is not trained, and would change none of the model's logits.
Status Trainer::prepare(const std::string& path) {
  LoadOptions load;
  load.n_threads = options_.n_threads;
  load.draft_head = false;
  model_ = TRY(load_model_on(device_, path, load));
  const bool all = !options_.adapter && options_.n_draft_heads == 0;
  const auto by_default = [all](std::string_view) { return all; };
  parameters_ = TRY(Parameters<float>::choose(
      *model_, *device_,
      options_.trains ? options_.trains : std::function<bool(std::string_view)>(by_default)));
  if (options_.fresh) TRY(draw_weights(*model_, parameters_, *options_.fresh));
  if (options_.adapter) {
    adapter_ =
        TRY(TrainedAdapter<float>::create(*model_, *device_, *options_.adapter, parameters_));
    const std::string& start = options_.adapter->start;
    if (!start.empty()) TRY(read_peft_start(*model_, *adapter_, parameters_, start));
  }
  if (options_.has_head) TRY(add_head());
  if (options_.n_draft_heads > 0) {
    draft_heads_ =
        TRY(TrainedHeads::create(*model_, *device_, options_.n_draft_heads, parameters_));
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

// A parameter beside the model's, in memory that lives as long.
Status Trainer::add_head() {
  head_ = parameters_.all().size();
  head_memory_ = TRY(add_own_vector("head", model_->h.n_embd, *device_, parameters_));
  return {};
}

// Memory of the tape is the standard library's, which reports that it ran out by an exception.
Result<double> Trainer::compute(const TrainBatch& batch, StepObjective& objective, bool learns) {
  Result<double> loss = 0.0;
  device_->forgive();
  const bool had_memory = try_allocating([&] {
    const bool walks = learns && objective.walks_model();
    if (walks) device_->tape().record(options_.checkpoint_entries);
    const auto output =
        decode(*ops_, *model_, batch.rows.batch(), *activations_, options_.max_rows);
    if (!device_->failure().ok()) return;
    TrainPart part{batch, {}, {}, pool_, learns};
    if (batch.rows.batch().n_logits() > 0) {
      part.logits = device_->memory().numbers(output->logits, walks);
    }
    if (batch.rows.batch().n_hidden() > 0) {
      part.hidden = device_->memory().numbers(output->hidden, walks);
    }
    loss = objective.add(part);
    if (walks) device_->tape().backward();
  });
  device_->tape().stop();
  device_->tape().clear();
  if (!had_memory) return fail(Code::out_of_memory, "training: no memory for the step");
  TRY(device_->failure());
  return loss;
}

Result<std::vector<TrainBatch>> Trainer::batches_of(std::span<const TrainSequence> sequences,
                                                    const StepObjective& objective,
                                                    bool with_adapter) const {
  const BatchLimits limits{.max_rows = options_.max_rows,
                           .n_vocab = model_->h.n_vocab,
                           .together = objective.n_together(std::ssize(sequences)),
                           .reads = objective.reads()};
  return make_batches(sequences, limits, adapter_ && with_adapter ? adapter_->mix() : AdapterMix());
}

// What no sequence asks for is refused before what has no derivative is found.
Result<StepReport> Trainer::step(std::span<const TrainSequence> sequences) {
  TRY(batches_of(sequences, LogProbReader(0), true));
  TokenObjective objective = TRY(token_objective(sequences));
  return step(sequences, objective);
}

// Gradients are the sums over all parts before any parameter changes.
Result<StepReport> Trainer::step(std::span<const TrainSequence> sequences,
                                 StepObjective& objective) {
  const std::vector<TrainBatch> batches = TRY(batches_of(sequences, objective, true));
  if (batches.empty()) return fail(Code::invalid, "training: there is nothing to learn");
  StepReport report{.step = n_steps_ + 1};
  parameters_.clear_gradients();
  for (const TrainBatch& batch : batches) {
    report.loss += TRY(compute(batch, objective, true));
    report.kept_bytes = std::max(report.kept_bytes, device_->tape().kept().peak());
    const bool has_targets = !batch.targets.empty();
    report.n_targets +=
        has_targets ? std::ssize(batch.targets) - std::ranges::count(batch.targets, kNoTarget)
                    : batch.rows.n_rows();
    for (const float weight : batch.weights) report.weight += double{weight};
    if (!has_targets) report.weight += static_cast<double>(batch.rows.n_rows());
  }
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

Result<double> Trainer::loss(std::span<const TrainSequence> sequences) {
  TRY(batches_of(sequences, LogProbReader(0), true));
  TokenObjective objective = TRY(token_objective(sequences));
  return loss(sequences, objective);
}

// Without recording, so that nothing is kept.
Result<double> Trainer::loss(std::span<const TrainSequence> sequences, StepObjective& objective) {
  double sum = 0;
  for (const TrainBatch& batch : TRY(batches_of(sequences, objective, true))) {
    sum += TRY(compute(batch, objective, false));
  }
  return sum;
}

Result<std::vector<std::vector<double>>> Trainer::log_probs(
    std::span<const TrainSequence> sequences, bool with_adapter) {
  LogProbReader reader(sequences.size());
  for (const TrainBatch& batch : TRY(batches_of(sequences, reader, with_adapter))) {
    TRY(compute(batch, reader, false));
  }
  return std::move(reader.found);
}

int64_t Trainer::n_bytes() const {
  return device_->memory().n_bytes() + device_->matrices().n_bytes() + optimiser_->n_bytes();
}

// Gradients are not kept: a step makes them anew.
TrainState Trainer::state(std::span<const RunFact> facts) const {
  TrainState state{.n_steps = n_steps_, .facts = facts, .numbers = {}};
  const std::span<const Parameter<float>> all = parameters_.all();
  for (size_t i = 0; i < all.size(); ++i) {
    state.numbers.push_back({all[i].name,
                             {saved_part(all[i].values), saved_part(optimiser_->first(i)),
                              saved_part(optimiser_->second(i))}});
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
