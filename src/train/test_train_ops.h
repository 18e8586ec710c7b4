// Operations of training on random numbers, and their derivatives by differences.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/rng.h"
#include "train/train_device.h"

namespace ruv {

// A device in double precision whose operations are checked.
class TrainWorld {
 public:
  explicit TrainWorld(int n_threads = 2)
      : pool_(n_threads), device_(make_train_device<double>()), ops_(device_->make_ops(pool_)) {}

  Ops& ops() { return *ops_; }
  TrainDevice<double>& device() { return *device_; }
  Rng& rng() { return rng_; }
  double random() { return rng_.uniform() * 2 - 1; }

  // Rows of random numbers, whose derivatives are checked.
  View input(int64_t n_rows, int64_t n_cols) {
    const View view = room(n_rows, n_cols);
    const Adjoined<double> numbers = device_->memory().numbers(view, true);
    for (int64_t i = 0; i < numbers.size(); ++i) numbers.values[i] = random();
    inputs_.push_back({numbers.values, numbers.adjoints, numbers.size()});
    return view;
  }
  // The same as a vector.
  Vector vector(int64_t n) {
    return {DeviceMemory{input(1, n).start, n * 4, memory_.back().owner}};
  }
  View room(int64_t n_rows, int64_t n_cols) {
    memory_.push_back(*device_->allocate(n_rows * n_cols * int64_t{sizeof(float)}));
    return {memory_.back().start, n_rows, n_cols};
  }
  // A trained matrix.
  Weight matrix(int64_t n_out, int64_t n_in) {
    Weight weight = plain(n_out, n_in);
    TrainMatrix<double>& matrix = device_->matrices().of(weight);
    EXPECT_TRUE(matrix.train().ok());
    inputs_.push_back({matrix.values(), matrix.gradient(), n_out * n_in});
    return weight;
  }
  // One that stays rows of a file.
  Weight plain(int64_t n_out, int64_t n_in) {
    std::vector<float>& numbers = *files_.emplace_back(
        std::make_unique<std::vector<float>>(static_cast<size_t>(n_out * n_in)));
    for (float& x : numbers) x = static_cast<float>(random());
    Weight weight = device_->packing().shape_of(DType::f32, n_in, n_out);
    for (int64_t i = 0; i < n_out; ++i) {
      weight.plain.rows.push_back(Address(reinterpret_cast<uint64_t>(numbers.data() + i * n_in)));
    }
    return weight;
  }

  // Computes `f`, whose loss is a random sum of the numbers of `out`, and compares the derivative
  // by each number of the inputs with differences of the loss. The greatest error, of the greatest
  // derivative.
  double error(const std::vector<View>& out, const std::function<void(Ops&)>& f,
               int64_t checkpoints = 0) {
    std::vector<std::vector<double>> seeds;
    for (const View& view : out) {
      std::vector<double>& seed =
          seeds.emplace_back(static_cast<size_t>(view.n_rows * view.n_cols));
      for (double& x : seed) x = random();
    }
    keep_inputs();
    const auto loss = [&](bool records) {
      restore_inputs();
      if (records) device_->tape().record(checkpoints);
      f(*ops_);
      double sum = 0;
      for (size_t i = 0; i < out.size(); ++i) {
        const Adjoined<double> numbers = device_->memory().numbers(out[i], true);
        for (int64_t at = 0; at < numbers.size(); ++at) {
          sum += seeds[i][static_cast<size_t>(at)] * numbers.values[at];
          if (records) numbers.adjoints[at] = seeds[i][static_cast<size_t>(at)];
        }
      }
      return sum;
    };
    for (Input& input : inputs_) std::fill_n(input.adjoints, input.n, 0.0);
    loss(true);
    device_->tape().backward();
    EXPECT_TRUE(device_->failure().ok()) << device_->failure().message();
    const double error = greatest_error(loss);
    restore_inputs();
    return error;
  }

 private:
  struct Input {
    double* values;
    double* adjoints;
    int64_t n;
    std::vector<double> kept = {};
  };
  void keep_inputs() {
    for (Input& input : inputs_) input.kept.assign(input.values, input.values + input.n);
  }
  void restore_inputs() {
    for (Input& input : inputs_) std::copy(input.kept.begin(), input.kept.end(), input.values);
  }
  // By central differences of the fourth order.
  template <class Loss>
  double greatest_error(Loss&& loss) {
    constexpr double kStep = 1e-3;
    double error = 0;
    double greatest = 1e-3;
    for (Input& input : inputs_) {
      const std::vector<double> derivatives(input.adjoints, input.adjoints + input.n);
      for (size_t i = 0; i < input.kept.size(); ++i) {
        const double at = input.kept[i];
        double around[4];
        const double steps[4] = {-2, -1, 1, 2};
        for (size_t k = 0; k < 4; ++k) {
          input.kept[i] = at + steps[k] * kStep;
          around[k] = loss(false);
        }
        input.kept[i] = at;
        const double slope = (around[0] - 8 * around[1] + 8 * around[2] - around[3]) / (12 * kStep);
        error = std::max(error, std::abs(slope - derivatives[i]));
        greatest = std::max(greatest, std::abs(slope));
      }
    }
    return error / greatest;
  }

  Rng rng_{7};
  WorkerPool pool_;
  std::shared_ptr<TrainDevice<double>> device_;
  std::unique_ptr<Ops> ops_;
  std::vector<DeviceMemory> memory_;
  std::vector<std::unique_ptr<std::vector<float>>> files_;
  std::vector<Input> inputs_;
};

}  // namespace ruv
