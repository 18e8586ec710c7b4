// Teacher: a model that another one learns from, and that stays as it is.
#pragma once

#include "model/decoder.h"
#include "train/train_device.h"
#include "train/train_sequence.h"

namespace ruv {

class Teacher {
 public:
  // Loads it for steps of at most max_rows rows. Fails: as load_model; invalid (it has other tokens
  // than the student).
  static Result<std::unique_ptr<Teacher>> create(const std::string& path, const Model& student,
                                                 int n_threads, int64_t max_rows);

  // What it says of the sequences, which fit into one step; rows as make_batches has them. Valid
  // until the next call. Fails: as make_batches; unsupported, by the name of an operation.
  Result<Adjoined<float>> logits(std::span<const TrainSequence> sequences);
  const Model& model() const { return *model_; }

 private:
  Teacher(int n_threads, int64_t max_rows)
      : pool_(n_threads), max_rows_(max_rows), device_(make_train_device<float>()) {}

  WorkerPool pool_;
  int64_t max_rows_;
  std::shared_ptr<TrainDevice<float>> device_;
  std::shared_ptr<const Model> model_;
  std::optional<Activations> activations_;
  std::unique_ptr<Ops> ops_;
};

}  // namespace ruv
