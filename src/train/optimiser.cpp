#include "train/optimiser.h"

#include <algorithm>

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

// A momentum that is kept as bytes is float32 for the time of the step.
void Optimiser::step_matrix(size_t i, const Parameter<float>& parameter, double rate,
                            double factor) {
  const Muon<float>::Change change = {rate, adam_.kept(parameter, rate)};
  StoredMoment<float>& moment = adam_.first_moment(i);
  if (moment.form() == MomentForm::plain) {
    muon_->step(parameter, moment.numbers(), factor, change);
    return;
  }
  constexpr int64_t kBlock = StoredMoment<float>::kBlock;
  const int64_t n = moment.size();
  momentum_.resize(static_cast<size_t>(n));
  const auto each_block = [&](auto&& work) {
    pool_->run_items((n + kBlock - 1) / kBlock, [&](int, int64_t block) {
      const auto size = static_cast<size_t>(std::min(kBlock, n - block * kBlock));
      work(block * kBlock, std::span(momentum_).subspan(static_cast<size_t>(block * kBlock), size));
    });
  };
  each_block([&](int64_t at, std::span<float> numbers) { moment.read(at, numbers); });
  muon_->step(parameter, momentum_, factor, change);
  each_block([&](int64_t at, std::span<float> numbers) { moment.write(at, numbers); });
}

void Optimiser::step(std::span<const Parameter<float>> parameters, int64_t step, double rate,
                     double factor) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter<float>& parameter = parameters[i];
    if (muon_ != nullptr && Muon<float>::suits(parameter)) {
      step_matrix(i, parameter, rate, factor);
    } else {
      adam_.change(i, parameter, step, rate, factor, *pool_);
    }
  }
}

}  // namespace ruv
