#include "train/adam.h"

#include <algorithm>
#include <cmath>

#include "base/elementary.h"

namespace ruv {
namespace {

constexpr int64_t kPart = 4096;  // numbers that one thread takes at a time

int64_t parts_of(int64_t n) { return (n + kPart - 1) / kPart; }

}  // namespace

// A beta of 1 would never change a moment.
Status check(const AdamNumbers& n) {
  const auto is_share = [](double x) { return x >= 0 && x < 1; };
  if (!is_share(n.beta1) || !is_share(n.beta2)) {
    return fail(Code::invalid, "AdamW: beta1 = {} and beta2 = {} are not both in [0, 1)", n.beta1,
                n.beta2);
  }
  if (!(n.eps > 0)) return fail(Code::invalid, "AdamW: eps = {} is not above 0", n.eps);
  if (!(n.weight_decay >= 0) || !std::isfinite(n.weight_decay)) {
    return fail(Code::invalid, "AdamW: weight decay of {} is not at least 0", n.weight_decay);
  }
  return {};
}

// A part's sum is one chain; the parts of all parameters are added in their order.
template <class T>
double gradient_norm(std::span<const Parameter<T>> parameters, WorkerPool& pool) {
  double squares = 0;
  std::vector<double> sums;
  for (const Parameter<T>& parameter : parameters) {
    const int64_t n = std::ssize(parameter.gradient);
    sums.assign(static_cast<size_t>(parts_of(n)), 0);
    pool.run_items(parts_of(n), [&](int, int64_t part) {
      double sum = 0;
      for (int64_t i = part * kPart; i < std::min(n, (part + 1) * kPart); ++i) {
        const double g = double{parameter.gradient[static_cast<size_t>(i)]};
        sum += g * g;
      }
      sums[static_cast<size_t>(part)] = sum;
    });
    for (const double sum : sums) squares += sum;
  }
  return std::sqrt(squares);
}

// Moments begin with 0, as a Buffer does.
template <class T>
Result<Adam<T>> Adam<T>::create(std::span<const Parameter<T>> parameters,
                                const AdamNumbers& numbers, const Choice& first_alone) {
  TRY(check(numbers));
  Adam adam;
  adam.numbers_ = numbers;
  for (const Parameter<T>& parameter : parameters) {
    const auto n_bytes = static_cast<int64_t>(parameter.values.size_bytes());
    const bool alone = first_alone && first_alone(parameter);
    adam.first_.push_back(TRY(Buffer::allocate(n_bytes)));
    adam.second_.push_back(TRY(Buffer::allocate(alone ? 0 : n_bytes)));
  }
  return adam;
}

template <class T>
std::span<T> Adam<T>::first(size_t i) const {
  return {first_[i].as<T>(), static_cast<size_t>(first_[i].n_bytes()) / sizeof(T)};
}

template <class T>
std::span<T> Adam<T>::second(size_t i) const {
  return {second_[i].as<T>(), static_cast<size_t>(second_[i].n_bytes()) / sizeof(T)};
}

template <class T>
int64_t Adam<T>::n_bytes() const {
  int64_t sum = 0;
  for (const Buffer& buffer : first_) sum += buffer.n_bytes();
  for (const Buffer& buffer : second_) sum += buffer.n_bytes();
  return sum;
}

template <class T>
double Adam<T>::kept(const Parameter<T>& parameter, double rate) const {
  const bool decays = parameter.matrix != nullptr || numbers_.decays_vectors;
  return decays ? 1 - rate * numbers_.weight_decay : 1;
}

// In float64 but for what is kept.
template <class T>
void Adam<T>::change(size_t i, const Parameter<T>& parameter, int64_t step, double rate,
                     double factor, WorkerPool& pool) {
  const auto at = static_cast<double>(step);
  const double left1 = numbers_.beta1 > 0 ? 1 - exact_pow(numbers_.beta1, at) : 1;
  const double left2 = numbers_.beta2 > 0 ? 1 - exact_pow(numbers_.beta2, at) : 1;
  const double kept_share = kept(parameter, rate);
  const std::span<T> first_moment = first(i);
  const std::span<T> second_moment = second(i);
  const int64_t n = std::ssize(parameter.values);
  pool.run_items(parts_of(n), [&](int, int64_t part) {
    const auto end = static_cast<size_t>(std::min(n, (part + 1) * kPart));
    for (auto j = static_cast<size_t>(part * kPart); j < end; ++j) {
      const double g = double{parameter.gradient[j]} * factor;
      const double m = numbers_.beta1 * double{first_moment[j]} + (1 - numbers_.beta1) * g;
      const double v = numbers_.beta2 * double{second_moment[j]} + (1 - numbers_.beta2) * g * g;
      const double x = double{parameter.values[j]} * kept_share;
      const double size = std::sqrt(v / left2) + numbers_.eps;
      first_moment[j] = static_cast<T>(m);
      second_moment[j] = static_cast<T>(v);
      parameter.values[j] = static_cast<T>(x - rate * (m / left1) / size);
    }
  });
}

template <class T>
void Adam<T>::step(std::span<const Parameter<T>> parameters, int64_t step, double rate,
                   double factor, WorkerPool& pool) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    change(i, parameters[i], step, rate, factor, pool);
  }
}

template double gradient_norm(std::span<const Parameter<float>>, WorkerPool&);
template double gradient_norm(std::span<const Parameter<double>>, WorkerPool&);
template class Adam<float>;
template class Adam<double>;

}  // namespace ruv
