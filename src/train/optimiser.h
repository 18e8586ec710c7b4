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
  std::span<float> first(size_t i) const { return adam_.first(i); }
  std::span<float> second(size_t i) const { return adam_.second(i); }
  int64_t n_bytes() const { return adam_.n_bytes(); }

 private:
  Optimiser(Adam<float> adam, WorkerPool& pool) : adam_(std::move(adam)), pool_(&pool) {}

  Adam<float> adam_;
  WorkerPool* pool_;
  std::unique_ptr<Muon<float>> muon_;  // null: AdamW alone
};

}  // namespace ruv
