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
};

// One step's: sequences have the numbers that they have there.
class StepObjective {
 public:
  virtual ~StepObjective() = default;
  virtual OutputRows reads() const { return OutputRows::logits; }
  // How many sequences after each other the loss sees together, of the n of a step.
  virtual int64_t n_together(int64_t n) const { return n > 0 ? 1 : n; }
  // The loss of a part, and its derivative, added to adjoints. Losses of a step's parts are added.
  // Fails: invalid, out_of_memory.
  virtual Result<double> add(const TrainPart& part) = 0;
};

}  // namespace ruv
