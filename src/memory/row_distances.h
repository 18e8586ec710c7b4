// RowDistances: exact distances of a query from vectors, by metric. Smaller is nearer.
#pragma once

#include <span>

#include "kernels/distances.h"
#include "memory/metric.h"

namespace ruv {

class RowDistances {
 public:
  // `step`: numbers of a row, a multiple of 16; those after a vector's own are 0.
  RowDistances(Metric metric, int64_t step) : metric_(metric), step_(step) {
    const DistanceKernels& kernels = distance_kernels();
    const bool is_product = metric == Metric::cosine || metric == Metric::dot;
    const bool is_manhattan = metric == Metric::manhattan;
    floats_ = is_product ? kernels.dot : is_manhattan ? kernels.manhattan : kernels.l2;
    halves_ = is_product     ? kernels.dot_half
              : is_manhattan ? kernels.manhattan_half
                             : kernels.l2_half;
  }

  int64_t step() const { return step_; }
  void measure(const float* query, std::span<const float* const> rows, float* out) const {
    floats_(query, rows.data(), std::ssize(rows), step_, out);
    finish(std::ssize(rows), out);
  }
  // Row i is scales[i] times its numbers. Requires: scales are powers of two.
  void measure(const float* query, std::span<const uint16_t* const> rows, const float* scales,
               float* out) const {
    halves_(query, rows.data(), scales, std::ssize(rows), step_, out);
    finish(std::ssize(rows), out);
  }

 private:
  // The nearer, the larger is a product.
  void finish(int64_t n, float* out) const {
    if (metric_ != Metric::cosine && metric_ != Metric::dot) return;
    const float whole = metric_ == Metric::cosine ? 1.0F : 0.0F;
    for (int64_t i = 0; i < n; ++i) out[i] = whole - out[i];
  }

  Metric metric_;
  int64_t step_;
  DistanceKernel<float, float> floats_;
  HalfKernel halves_;
};

}  // namespace ruv
