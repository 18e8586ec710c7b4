#include "train/optimiser.h"

namespace ruv {

Status check(const OptimiserNumbers& numbers) {
  TRY(check(numbers.adam));
  if (numbers.muon) TRY(check(*numbers.muon));
  return {};
}

// Kernels are those of training devices.
Result<Optimiser> Optimiser::create(std::span<const Parameter<float>> parameters,
                                    const OptimiserNumbers& numbers, WorkerPool& pool) {
  TRY(check(numbers));
  Adam<float>::Choice by_muon;
  if (numbers.muon) by_muon = Muon<float>::suits;
  Optimiser optimiser(TRY(Adam<float>::create(parameters, numbers.adam, by_muon)), pool);
  if (numbers.muon) {
    optimiser.muon_ = std::make_unique<Muon<float>>(*numbers.muon, pool, portable_kernels());
  }
  return optimiser;
}

void Optimiser::step(std::span<const Parameter<float>> parameters, int64_t step, double rate,
                     double factor) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter<float>& parameter = parameters[i];
    if (muon_ != nullptr && Muon<float>::suits(parameter)) {
      muon_->step(parameter, adam_.first(i), factor, {rate, adam_.kept(parameter, rate)});
    } else {
      adam_.change(i, parameter, step, rate, factor, *pool_);
    }
  }
}

}  // namespace ruv
