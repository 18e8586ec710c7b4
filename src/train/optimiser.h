// Optimiser: how gradients change parameters. AdamW, or Muon for the matrices of layers and AdamW
// for the others.
#pragma once

#include <optional>

#include "train/adam.h"
#include "train/muon.h"

namespace ruv {

struct OptimiserNumbers {
  AdamNumbers adam = {};
  std::optional<MuonNumbers> muon = {};
};
// Fails: invalid.
Status check(const OptimiserNumbers& numbers);

// Its parameters are given to each step in the order of create().
class Optimiser {
 public:
  // `pool` must outlive it. Fails: out_of_memory.
  static Result<Optimiser> create(std::span<const Parameter<float>> parameters,
                                  const OptimiserNumbers& numbers, WorkerPool& pool);

  // Step `step`, counted from 1, with gradients times `factor`. Weight decay is that of AdamW for
  // all matrices.
  void step(std::span<const Parameter<float>> parameters, int64_t step, double rate, double factor);

  // What it keeps of parameter i: Adam's moments, or Muon's momentum and nothing.
  const StoredMoment<float>& first(size_t i) const { return adam_.first_moment(i); }
  const StoredMoment<float>& second(size_t i) const { return adam_.second_moment(i); }
  int64_t n_bytes() const { return adam_.n_bytes(); }

 private:
  // Muon's step of parameter i.
  void step_matrix(size_t i, const Parameter<float>& parameter, double rate, double factor);

  Optimiser(Adam<float> adam, WorkerPool& pool) : adam_(std::move(adam)), pool_(&pool) {}

  Adam<float> adam_;
  WorkerPool* pool_;
  std::unique_ptr<Muon<float>> muon_;  // null: AdamW alone
  std::vector<float> momentum_;        // of a matrix of Muon's, where it is kept as bytes
};

}  // namespace ruv
