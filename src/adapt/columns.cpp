// All sums have one order, on every machine and with any number of threads.
#include "adapt/columns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ruv {
namespace {

// A column of which less than this is new lies in the basis, but for rounding.
constexpr double kDependent = 1e-13;
// Cosine of the angle at which two columns count as orthogonal.
constexpr double kOrthogonal = 1e-15;
constexpr int kMaxSweeps = 60;

// Turns two columns in their plane.
void rotate(std::span<double> x, std::span<double> y, double c, double s) {
  for (size_t i = 0; i < x.size(); ++i) {
    const double old = x[i];
    x[i] = c * old - s * y[i];
    y[i] = s * old + c * y[i];
  }
}

// Makes two columns orthogonal, and turns those of v alike. False: they were.
bool make_orthogonal(Columns& u, Columns& v, int64_t i, int64_t j) {
  const double a = dot(u.col(i), u.col(i)), b = dot(u.col(j), u.col(j));
  const double g = dot(u.col(i), u.col(j));
  if (g == 0 || std::fabs(g) <= kOrthogonal * std::sqrt(static_cast<double>(u.n_rows)) *
                                    std::sqrt(a) * std::sqrt(b)) {
    return false;
  }
  const double zeta = (b - a) / (2 * g);
  const double t = std::copysign(1.0, zeta) / (std::fabs(zeta) + std::hypot(1.0, zeta));
  const double c = 1 / std::hypot(1.0, t);
  rotate(u.col(i), u.col(j), c, c * t);
  rotate(v.col(i), v.col(j), c, c * t);
  return true;
}

// The columns that `order` names, in its order.
Columns in_order(const Columns& x, std::span<const int64_t> order) {
  Columns sorted(x.n_rows, 0);
  for (const int64_t j : order) sorted.append(x.col(j));
  return sorted;
}

}  // namespace

void Columns::append(std::span<const double> column) {
  numbers.insert(numbers.end(), column.begin(), column.end());
  ++n_cols;
}

// Eight sums, which do not wait for each other, in an order that no machine changes.
double dot(std::span<const double> x, std::span<const double> y) {
  constexpr size_t kLanes = 8;
  double sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[i + lane] * y[i + lane];
  }
  double sum = 0;
  for (; i < x.size(); ++i) sum += x[i] * y[i];
  for (const double lane : sums) sum += lane;
  return sum;
}

double norm(std::span<const double> x) { return std::sqrt(dot(x, x)); }

void add_scaled(std::span<double> y, double a, std::span<const double> x) {
  for (size_t i = 0; i < y.size(); ++i) y[i] += a * x[i];
}

Columns product(const Columns& x, const Columns& y) {
  Columns out(x.n_rows, y.n_cols);
  for (int64_t j = 0; j < y.n_cols; ++j) {
    const std::span<const double> weights = y.col(j);
    for (int64_t k = 0; k < x.n_cols; ++k) {
      add_scaled(out.col(j), weights[static_cast<size_t>(k)], x.col(k));
    }
  }
  return out;
}

Columns product_transposed(const Columns& x, const Columns& y) {
  Columns out(x.n_rows, y.n_rows);
  for (int64_t j = 0; j < y.n_rows; ++j) {
    for (int64_t k = 0; k < x.n_cols; ++k) {
      add_scaled(out.col(j), y.col(k)[static_cast<size_t>(j)], x.col(k));
    }
  }
  return out;
}

// Gram-Schmidt, column by column.
bool extend_basis(Columns& basis, std::vector<double> column, std::vector<double>& coefficients) {
  coefficients.assign(static_cast<size_t>(basis.n_cols), 0);
  const double before = norm(column);
  // Twice: the first time leaves what rounding put along the basis.
  for (int time = 0; time < 2; ++time) {
    for (int64_t k = 0; k < basis.n_cols; ++k) {
      const double along = dot(basis.col(k), column);
      coefficients[static_cast<size_t>(k)] += along;
      add_scaled(column, -along, basis.col(k));
    }
  }
  const double left = norm(column);
  if (before == 0 || left <= kDependent * before) return false;
  for (double& number : column) number /= left;
  coefficients.push_back(left);
  basis.append(column);
  return true;
}

QrFactors qr_of(const Columns& x) {
  QrFactors qr{Columns(x.n_rows, 0), {}};
  std::vector<std::vector<double>> rows(static_cast<size_t>(x.n_cols));
  for (int64_t j = 0; j < x.n_cols; ++j) {
    extend_basis(qr.q, {x.col(j).begin(), x.col(j).end()}, rows[static_cast<size_t>(j)]);
  }
  qr.r = Columns(qr.q.n_cols, x.n_cols);
  for (int64_t j = 0; j < x.n_cols; ++j) {
    std::ranges::copy(rows[static_cast<size_t>(j)], qr.r.col(j).begin());
  }
  return qr;
}

SingularParts singular_parts(const Columns& x) {
  Columns u = x, v(x.n_cols, x.n_cols);
  for (int64_t j = 0; j < x.n_cols; ++j) v.col(j)[static_cast<size_t>(j)] = 1;
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMaxSweeps; ++sweep) {
    turned = false;
    for (int64_t i = 0; i < x.n_cols; ++i) {
      for (int64_t j = i + 1; j < x.n_cols; ++j) turned |= make_orthogonal(u, v, i, j);
    }
  }
  std::vector<double> lengths;
  for (int64_t j = 0; j < x.n_cols; ++j) lengths.push_back(norm(u.col(j)));
  std::vector<int64_t> order(static_cast<size_t>(x.n_cols));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t i, int64_t j) {
    return lengths[static_cast<size_t>(i)] > lengths[static_cast<size_t>(j)];
  });
  std::ranges::sort(lengths, std::greater<>());
  return {in_order(u, order), in_order(v, order), std::move(lengths)};
}

}  // namespace ruv
