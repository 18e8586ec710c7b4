// What tests of indexes search among, and what they should find.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.h"
#include "memory/metric.h"

namespace ruv {

// Points around centres, which are far from each other beside the points' own differences.
struct Clusters {
  Clusters(int64_t n_of_dims, uint64_t seed) : n_dims(n_of_dims), rng(seed) {
    centres.resize(static_cast<size_t>(kCentres * n_dims));
    for (float& x : centres) x = draw();
  }
  float draw() {
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += rng.uniform() - 0.5;
    return static_cast<float>(sum);
  }
  std::vector<float> points(int64_t n) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t centre = static_cast<int64_t>(rng.below(kCentres)) * n_dims;
      for (int64_t d = 0; d < n_dims; ++d) {
        numbers.push_back(centres[static_cast<size_t>(centre + d)] + 0.4F * draw());
      }
    }
    return numbers;
  }

  static constexpr int64_t kCentres = 64;
  int64_t n_dims;
  Rng rng;
  std::vector<float> centres;
};

// In double, without an index.
inline double distance_of(Metric metric, std::span<const float> a, std::span<const float> b) {
  double sum = 0, square_a = 0, square_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = double{a[i]}, y = double{b[i]};
    switch (metric) {
      case Metric::l2:
        sum += (x - y) * (x - y);
        break;
      case Metric::manhattan:
        sum += std::fabs(x - y);
        break;
      case Metric::cosine:
      case Metric::dot:
        sum -= x * y;
    }
    square_a += x * x;
    square_b += y * y;
  }
  return metric == Metric::cosine ? 1 + sum / std::sqrt(square_a * square_b) : sum;
}

}  // namespace ruv
