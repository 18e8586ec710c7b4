// AdamW (Loshchilov and Hutter, 2019): Adam with weight decay apart from the gradient.
#pragma once

#include <functional>

#include "train/parameters.h"

namespace ruv {

// As in the paper; defaults are those of PyTorch.
struct AdamNumbers {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool decays_vectors = false;  // norms and biases too
};
// Fails: invalid.
Status check(const AdamNumbers& numbers);

// √Σ g² of all gradients. Sums are of parts of fixed size, in their order.
template <class T>
double gradient_norm(std::span<const Parameter<T>> parameters, WorkerPool& pool);

// The optimiser of some parameters, which are given to each step in the order of create(). Numbers
// that it keeps are T: with float as many bytes again as values and gradients together.
template <class T>
class Adam {
 public:
  // Parameters that `first_alone` accepts have no second moment: another optimiser changes them,
  // with what it keeps in the first. Fails: out_of_memory.
  using Choice = std::function<bool(const Parameter<T>&)>;
  static Result<Adam> create(std::span<const Parameter<T>> parameters, const AdamNumbers& numbers,
                             const Choice& first_alone = {});

  // Step `step`, counted from 1, with gradients times `factor`:
  //   p -= rate · weight_decay · p;  m = β1 m + (1 - β1) g;  v = β2 v + (1 - β2) g²
  //   p -= rate · (m / (1 - β1^step)) / (√(v / (1 - β2^step)) + eps)
  void step(std::span<const Parameter<T>> parameters, int64_t step, double rate, double factor,
            WorkerPool& pool);
  // The same of parameter i alone, which has both moments.
  void change(size_t i, const Parameter<T>& parameter, int64_t step, double rate, double factor,
              WorkerPool& pool);
  // What weight decay leaves of a parameter in a step at a rate.
  double kept(const Parameter<T>& parameter, double rate) const;

  // m and v of parameter i; without a second moment that is empty.
  std::span<T> first(size_t i) const;
  std::span<T> second(size_t i) const;
  int64_t n_bytes() const;

 private:
  AdamNumbers numbers_;
  std::vector<Buffer> first_, second_;  // moments of each parameter
};

}  // namespace ruv
