// AdamW (Loshchilov and Hutter, 2019): Adam with weight decay apart from the gradient.
#pragma once

#include <functional>
#include <optional>

#include "train/parameters.h"
#include "train/stored_moment.h"

namespace ruv {

// As in the paper; defaults are those of PyTorch.
struct AdamNumbers {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool decays_vectors = false;  // norms and biases too
  // Moments of matrices of at least this many numbers are kept as bytes; absent: none. A step
  // computes with what the bytes mean, and rounds only what it keeps. Norms, biases and small
  // matrices are few numbers, of which each decides much: fewer here takes hardly less memory.
  std::optional<int64_t> bytes_from = {};
};
// Fails: invalid.
Status check(const AdamNumbers& numbers);

// √Σ g² of all gradients. Sums are of parts of fixed size, in their order.
template <class T>
double gradient_norm(std::span<const Parameter<T>> parameters, WorkerPool& pool);

// The optimiser of some parameters, which are given to each step in the order of create(). Numbers
// that it keeps are T: with float as many bytes again as values and gradients together, and as
// bytes a quarter of that.
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

  // m and v of parameter i; without a second moment that has no numbers.
  StoredMoment<T>& first_moment(size_t i) { return first_[i]; }
  const StoredMoment<T>& first_moment(size_t i) const { return first_[i]; }
  const StoredMoment<T>& second_moment(size_t i) const { return second_[i]; }
  // Their numbers. Requires: they are not bytes.
  std::span<T> first(size_t i) const { return first_[i].numbers(); }
  std::span<T> second(size_t i) const { return second_[i].numbers(); }
  int64_t n_bytes() const;

 private:
  // What a step does to each number of a parameter; `left` is what of a moment is not its beginning
  // any more.
  struct Change {
    AdamNumbers numbers = {};
    double left1 = 1, left2 = 1;
    double rate = 0, factor = 1, kept = 1;
  };
  // Some numbers of a parameter and their moments.
  struct Stretch {
    std::span<T> values = {};
    std::span<const T> gradient = {};
    std::span<T> first = {}, second = {};
  };
  static void change_stretch(const Change& change, const Stretch& at);
  // `at` has no moments: they are read and written.
  static void change_block(const Change& change, int64_t begin, const Stretch& at,
                           StoredMoment<T>& first, StoredMoment<T>& second);

  AdamNumbers numbers_;
  std::vector<StoredMoment<T>> first_, second_;  // of each parameter
};

}  // namespace ruv
