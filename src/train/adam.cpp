#include "train/adam.h"

#include <algorithm>
#include <array>
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

// A parameter of another optimiser has a first moment in the form that Adam's would have.
template <class T>
Result<Adam<T>> Adam<T>::create(std::span<const Parameter<T>> parameters,
                                const AdamNumbers& numbers, const Choice& first_alone) {
  TRY(check(numbers));
  Adam adam;
  adam.numbers_ = numbers;
  for (const Parameter<T>& parameter : parameters) {
    const int64_t n = std::ssize(parameter.values);
    const bool alone = first_alone && first_alone(parameter);
    const bool in_bytes =
        numbers.bytes_from && parameter.matrix != nullptr && n >= *numbers.bytes_from;
    adam.first_.push_back(
        TRY(StoredMoment<T>::create(n, in_bytes ? MomentForm::signed_bytes : MomentForm::plain)));
    adam.second_.push_back(TRY(StoredMoment<T>::create(
        alone ? 0 : n, in_bytes ? MomentForm::unsigned_bytes : MomentForm::plain)));
  }
  return adam;
}

template <class T>
int64_t Adam<T>::n_bytes() const {
  int64_t sum = 0;
  for (const StoredMoment<T>& moment : first_) sum += std::ssize(moment.memory());
  for (const StoredMoment<T>& moment : second_) sum += std::ssize(moment.memory());
  return sum;
}

// Norms and biases keep their size unless all parameters decay.
template <class T>
double Adam<T>::kept(const Parameter<T>& parameter, double rate) const {
  const bool decays = parameter.matrix != nullptr || numbers_.decays_vectors;
  return decays ? 1 - rate * numbers_.weight_decay : 1;
}

// In float64 but for what is kept.
template <class T>
void Adam<T>::change_stretch(const Change& change, const Stretch& at) {
  const AdamNumbers& numbers = change.numbers;
  for (size_t j = 0; j < at.values.size(); ++j) {
    const double g = double{at.gradient[j]} * change.factor;
    const double m = numbers.beta1 * double{at.first[j]} + (1 - numbers.beta1) * g;
    const double v = numbers.beta2 * double{at.second[j]} + (1 - numbers.beta2) * g * g;
    const double x = double{at.values[j]} * change.kept;
    const double size = std::sqrt(v / change.left2) + numbers.eps;
    at.first[j] = static_cast<T>(m);
    at.second[j] = static_cast<T>(v);
    at.values[j] = static_cast<T>(x - change.rate * (m / change.left1) / size);
  }
}

// The same where moments are bytes, a block at a time.
template <class T>
void Adam<T>::change_block(const Change& change, int64_t begin, const Stretch& at,
                           StoredMoment<T>& first, StoredMoment<T>& second) {
  std::array<T, StoredMoment<T>::kBlock> m, v;
  const std::span<T> of_first = std::span(m).first(at.values.size());
  const std::span<T> of_second = std::span(v).first(at.values.size());
  first.read(begin, of_first);
  second.read(begin, of_second);
  change_stretch(change, {at.values, at.gradient, of_first, of_second});
  first.write(begin, of_first);
  second.write(begin, of_second);
}

// Parts are whole blocks of moments that are bytes.
template <class T>
void Adam<T>::change(size_t i, const Parameter<T>& parameter, int64_t step, double rate,
                     double factor, WorkerPool& pool) {
  static_assert(kPart % StoredMoment<T>::kBlock == 0);
  const auto at = static_cast<double>(step);
  const Change change = {.numbers = numbers_,
                         .left1 = numbers_.beta1 > 0 ? 1 - exact_pow(numbers_.beta1, at) : 1,
                         .left2 = numbers_.beta2 > 0 ? 1 - exact_pow(numbers_.beta2, at) : 1,
                         .rate = rate,
                         .factor = factor,
                         .kept = kept(parameter, rate)};
  StoredMoment<T>& first = first_[i];
  StoredMoment<T>& second = second_[i];
  const bool in_bytes = first.form() != MomentForm::plain;
  const int64_t n = std::ssize(parameter.values);
  const int64_t n_at_once = in_bytes ? StoredMoment<T>::kBlock : kPart;
  pool.run_items(parts_of(n), [&](int, int64_t part) {
    const int64_t end = std::min(n, (part + 1) * kPart);
    for (int64_t begin = part * kPart; begin < end; begin += n_at_once) {
      const auto size = static_cast<size_t>(std::min(n_at_once, end - begin));
      const auto cut = [&](auto span) { return span.subspan(static_cast<size_t>(begin), size); };
      Stretch stretch = {cut(parameter.values), cut(parameter.gradient), {}, {}};
      if (in_bytes) {
        change_block(change, begin, stretch, first, second);
      } else {
        stretch.first = cut(first.numbers());
        stretch.second = cut(second.numbers());
        change_stretch(change, stretch);
      }
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
