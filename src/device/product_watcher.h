// ProductWatcher: sees the rows that a device multiplies by its matrices. What calibration measures
// is there: quantising a matrix adds errors that its inputs scale.
#pragma once

#include "device/view.h"
#include "device/weight.h"

namespace ruv {

// Called by the thread that computes, before each product, with the same rows in the same order
// whatever the number of threads.
class ProductWatcher {
 public:
  virtual ~ProductWatcher() = default;
  // x: (n_rows, weight.n_in), the rows that the matrix is multiplied by; only of those that chose
  // it, for a matrix of an expert.
  virtual void on_product(const Weight& weight, HostRows x) = 0;
  // Called after each product, with its bias: (n_rows, weight.n_out),
  // which it may change. Not for the matrices of heads.
  virtual void on_result(const Weight& /*weight*/, HostRows /*out*/) {}
};

// The CPU, computing the same numbers on every machine and showing its products to the watcher,
// which must outlive it.
std::shared_ptr<Device> watched_device(ProductWatcher& watcher);

}  // namespace ruv
