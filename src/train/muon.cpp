#include "train/muon.h"

#include <algorithm>
#include <cmath>

#include "train/softmax.h"
#include "train/train_team.h"

namespace ruv {
namespace {

// Coefficients of x -> a x + b x³ + c x⁵, applied again and again: those of Jordan et al., which
// bring singular values from 0.001 to between 0.7 and 1.2 in five turns.
constexpr double kA = 3.4445;
constexpr double kB = -4.7750;
constexpr double kC = 2.0315;

}  // namespace

Status check(const MuonNumbers& n) {
  if (!(n.momentum >= 0 && n.momentum < 1) || n.n_iterations < 1 || n.n_iterations > 100 ||
      !(n.size > 0)) {
    return fail(Code::invalid, "Muon: momentum {}, {} iterations, size {}", n.momentum,
                n.n_iterations, n.size);
  }
  return {};
}

template <class T>
bool Muon<T>::suits(const Parameter<T>& parameter) {
  return parameter.matrix != nullptr && parameter.name.starts_with("blk.") &&
         parameter.name.ends_with(".weight") && parameter.matrix->n_out() > 1 &&
         parameter.matrix->n_in() > 1;
}

// The matrix lies on its side where it is higher than wide, so that squares are of the smaller
// dimension.
template <class T>
void Muon<T>::step(const Parameter<T>& parameter, std::span<T> momentum, double factor,
                   const Change& change) {
  const int64_t n_out = parameter.matrix->n_out();
  const int64_t n_in = parameter.matrix->n_in();
  const bool turned = n_out > n_in;
  const auto mu = static_cast<T>(numbers_.momentum);
  const auto g_factor = static_cast<T>(factor);
  x_.resize(momentum.size());
  each_row(pool_, n_out, n_in, [&](int64_t i) {
    for (int64_t j = 0; j < n_in; ++j) {
      const auto at = static_cast<size_t>(i * n_in + j);
      const T g = parameter.gradient[at] * g_factor;
      momentum[at] = mu * momentum[at] + g;
      x_[turned ? static_cast<size_t>(j * n_out + i) : at] = g + mu * momentum[at];
    }
  });
  make_orthogonal(x_, std::min(n_out, n_in), std::max(n_out, n_in));
  const double size = numbers_.size * std::sqrt(static_cast<double>(std::max(n_out, n_in)));
  const auto kept = static_cast<T>(change.kept);
  const auto rate = static_cast<T>(change.rate * size);
  each_row(pool_, n_out, n_in, [&](int64_t i) {
    for (int64_t j = 0; j < n_in; ++j) {
      const auto at = static_cast<size_t>(i * n_in + j);
      const T update = x_[turned ? static_cast<size_t>(j * n_out + i) : at];
      parameter.values[at] = kept * parameter.values[at] - rate * update;
    }
  });
}

// A gradient of zeros stays zeros.
template <class T>
void Muon<T>::make_orthogonal(std::vector<T>& x, int64_t n_rows, int64_t n_cols) {
  const int64_t n = std::ssize(x);
  const double squares = sum_in_lanes(n, [&](int64_t i) {
    const auto number = double{x[static_cast<size_t>(i)]};
    return number * number;
  });
  if (squares == 0) return;
  const auto scale = static_cast<T>(1 / std::sqrt(squares));
  for (T& number : x) number *= scale;
  square_.resize(static_cast<size_t>(n_rows * n_rows));
  fourth_.resize(square_.size());
  more_.resize(x.size());
  const Factor<T> all = whole<T>(x.data(), n_rows, n_cols);
  const Factor<T> square = whole<T>(square_.data(), n_rows, n_rows);
  for (int turn = 0; turn < numbers_.n_iterations; ++turn) {
    products_.multiply({square_.data(), n_rows, false}, all, all);
    products_.multiply({fourth_.data(), n_rows, false}, square, square);
    for (size_t i = 0; i < square_.size(); ++i) {
      square_[i] = static_cast<T>(kB) * square_[i] + static_cast<T>(kC) * fourth_[i];
    }
    products_.multiply({more_.data(), n_cols, false}, square, all.transposed());
    each_stretch(pool_, n, [&](int64_t first, int64_t size) {
      for (int64_t i = first; i < first + size; ++i) {
        const auto at = static_cast<size_t>(i);
        x[at] = static_cast<T>(kA) * x[at] + more_[at];
      }
    });
  }
}

template class Muon<float>;
template class Muon<double>;

}  // namespace ruv
