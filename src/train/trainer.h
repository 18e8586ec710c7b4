// Trainer: a model in training. A step walks its sequences forward and back, in as many parts as
// have room, and changes the parameters once. What a step computes depends on the model, the
// options, the steps before it and its sequences alone, so that a run that is saved and resumed
// gives the bytes of one that was not.
#pragma once

#include "model/decoder.h"
#include "train/optimiser.h"
#include "train/rate_schedule.h"
#include "train/step_objective.h"
#include "train/train_sequence.h"
#include "train/train_state.h"
#include "train/trained_adapter.h"
#include "train/trained_heads.h"

namespace ruv {

// How a model is trained. What is learned in which step is the caller's affair.
struct TrainOptions {
  int n_threads = 0;       // 0: one per core
  int64_t max_rows = 512;  // of a part of a step
  // Products of matrices, forward, back, and in Muon; attention stays in float32.
  FactorPrecision precision = FactorPrecision::f32;
  // Entries of the tape between checkpoints; 0: none, which is faster and keeps more memory.
  int64_t checkpoint_entries = 0;
  double greatest_norm = 1;  // gradients of a greater norm are made as long as this; 0: any
  RateSchedule rate = {};
  OptimiserNumbers optimiser = {};
  // Weights are drawn anew of this seed (draw_weights.h): only the model's shape is taken.
  std::optional<uint64_t> fresh = {};
  // A vector that makes a number of a hidden state, for objectives that read one; all 0 at first.
  bool has_head = false;
  // Heads that are trained beside the model (trained_heads.h), by an objective of theirs.
  int64_t n_draft_heads = 0;
  // Which parameters of the model are trained, by name; null: all, or none beside an adapter or
  // drafting heads.
  std::function<bool(std::string_view)> trains = {};
  std::optional<LowRankOptions> adapter = {};  // matrices of low rank that are trained
};

// What a step did.
struct StepReport {
  int64_t step = 0;  // counted from 1
  double loss = 0;   // mean over targets, by their weights
  int64_t n_targets = 0;
  double weight = 0;  // of the targets together
  double gradient_norm = 0;
  double rate = 0;
  int64_t kept_bytes = 0;  // the most that the tape kept
};

class Trainer {
 public:
  // Loads the model to train it. Fails: as load_model; invalid (numbers of the options that make no
  // sense, nothing to train, an adapter of weights that are drawn anew), unsupported
  // (draw_weights).
  static Result<std::unique_ptr<Trainer>> create(const std::string& path,
                                                 const TrainOptions& options);

  // Learns the sequences together. Fails: as make_batches; invalid (no targets, weights that are
  // none; a loss or gradient that is not finite, before anything is changed); unsupported, by the
  // name of an operation.
  Result<StepReport> step(std::span<const TrainSequence> sequences);
  // The same of another objective. Its report has the rows that were read as targets, with a weight
  // of 1 where there are no logits.
  Result<StepReport> step(std::span<const TrainSequence> sequences, StepObjective& objective);
  // Mean loss over their targets, or an objective's; changes nothing. Fails: as step.
  Result<double> loss(std::span<const TrainSequence> sequences);
  Result<double> loss(std::span<const TrainSequence> sequences, StepObjective& objective);
  // Log-probabilities of each sequence's tokens from its first target to its last, 0 between
  // targets; `with_adapter`: or of the model as it is without. Fails: as step.
  Result<std::vector<std::vector<double>>> log_probs(std::span<const TrainSequence> sequences,
                                                     bool with_adapter = true);

  // Steps so far.
  int64_t n_steps() const { return n_steps_; }
  const Model& model() const { return *model_; }
  const Parameters<float>& parameters() const { return parameters_; }
  // Null: there is none.
  const Parameter<float>* head() const { return head_ ? &parameters_.all()[*head_] : nullptr; }
  // Null: no adapter is trained.
  const TrainedAdapter<float>* adapter() const { return adapter_ ? &*adapter_ : nullptr; }
  // Null: none are trained.
  const TrainedHeads* draft_heads() const { return draft_heads_ ? &*draft_heads_ : nullptr; }
  // Memory of parameters, gradients, moments and activations.
  int64_t n_bytes() const;

  // Writes all that later steps depend on, and reads it again. `facts` are what the caller has
  // chosen, which must be the same when a run is resumed. Fails: as writing and opening files do;
  // corrupt; invalid (it is of other facts, which are named, or other parameters).
  Status save(const std::string& path, std::span<const RunFact> facts = {}) const;
  Status resume(const std::string& path, std::span<const RunFact> facts = {});
  // What save() writes, for a StateSaver. Numbers are the trainer's own.
  TrainState state(std::span<const RunFact> facts) const;

 private:
  Trainer(const TrainOptions& options)
      : options_(options),
        pool_(options.n_threads),
        device_(make_train_device<float>(options.precision)) {
    if (options_.optimiser.muon) options_.optimiser.muon->precision = options.precision;
  }
  // Loads the model and makes room for a step.
  Status prepare(const std::string& path);
  Status add_head();
  Result<std::vector<TrainBatch>> batches_of(std::span<const TrainSequence> sequences,
                                             const StepObjective& objective,
                                             bool with_adapter) const;
  // The loss of a part, and walks its derivative back.
  Result<double> compute(const TrainBatch& batch, StepObjective& objective, bool learns);

  TrainOptions options_;
  WorkerPool pool_;
  std::shared_ptr<TrainDevice<float>> device_;
  std::shared_ptr<const Model> model_;
  Parameters<float> parameters_;
  std::optional<TrainedAdapter<float>> adapter_;
  std::optional<TrainedHeads> draft_heads_;
  DeviceMemory head_memory_;
  std::optional<size_t> head_;  // among the parameters
  std::optional<Optimiser> optimiser_;
  std::optional<Activations> activations_;
  std::unique_ptr<Ops> ops_;
  int64_t n_steps_ = 0;
};

}  // namespace ruv
