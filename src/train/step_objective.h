// StepObjective: what a step learns of its sequences, as a loss of what the model says of them and
// the derivative of that.
#pragma once

#include "train/train_sequence.h"

namespace ruv {

// A part of a step as it was computed. Rows of `logits` are those of batch.targets; rows of
// `hidden`, after the last norm, are the same, or where no logits are read all of each sequence.
// What is not read is empty. Adjoints are null where the loss alone is wanted.
struct TrainPart {
  const TrainBatch& batch;
  Adjoined<float> logits, hidden;
  WorkerPool& pool;
  bool learns = false;  // else the loss alone is wanted
};

// One step's: sequences have the numbers that they have there.
class StepObjective {
 public:
  virtual ~StepObjective() = default;
  virtual OutputRows reads() const { return OutputRows::logits; }
  // Whether the model itself learns from it, and not only what the objective has beside: else a
  // step records nothing, and there are no adjoints.
  virtual bool walks_model() const { return true; }
  // How many sequences after each other the loss sees together, of the n of a step.
  virtual int64_t n_together(int64_t n) const { return n > 0 ? 1 : n; }
  // The loss of a part, and its derivative, added to adjoints. Losses of a step's parts are added.
  // Fails: invalid, out_of_memory.
  virtual Result<double> add(const TrainPart& part) = 0;
};

}  // namespace ruv
