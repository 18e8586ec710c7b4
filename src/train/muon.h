// Muon (Jordan et al., 2024): momentum whose singular values are all made nearly 1, for matrices of
// layers. A step changes a matrix by as much in each direction that the gradient has, large or
// small, where Adam looks at each number alone.
#pragma once

#include "train/parameters.h"
#include "train/products.h"

namespace ruv {

// Updates are made as large as those of AdamW, so that one rate suits both (Liu et al., 2025).
struct MuonNumbers {
  double momentum = 0.95;
  int n_iterations = 5;  // of Newton and Schulz; fewer leave singular values further from 1
  double size = 0.2;     // root mean square of an update's numbers, times the rate
  FactorPrecision precision = FactorPrecision::f32;
};
// Fails: invalid.
Status check(const MuonNumbers& numbers);

template <class T>
class Muon {
 public:
  Muon(const MuonNumbers& numbers, WorkerPool& pool, const Kernels& kernels)
      : numbers_(numbers), pool_(pool), products_(pool, kernels, numbers.precision) {}

  // Whether a parameter is one for it: a matrix of a layer that is not an adapter's.
  static bool suits(const Parameter<T>& parameter);
  // How a matrix is changed: times `kept`, less `rate` times the update.
  struct Change {
    double rate = 0;
    double kept = 1;
  };
  // With gradient g · factor: momentum = μ · momentum + g, and the update is that of g + μ ·
  // momentum. `momentum` has as many numbers as the parameter.
  void step(const Parameter<T>& parameter, std::span<T> momentum, double factor,
            const Change& change);

 private:
  // x (n_rows, n_cols), n_rows <= n_cols, with all singular values made nearly 1.
  void make_orthogonal(std::vector<T>& x, int64_t n_rows, int64_t n_cols);

  MuonNumbers numbers_;
  WorkerPool& pool_;
  MatrixProducts<T> products_;
  std::vector<T> x_, square_, fourth_, more_;
};

}  // namespace ruv
