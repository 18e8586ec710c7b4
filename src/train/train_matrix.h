// TrainMatrix: a matrix of the model on a training device: its rows as the file has them, or values
// of its own, which training changes.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "base/buffer.h"
#include "device/weight.h"

namespace ruv {

// Rows that are not trained take no memory: a base in 4 bits stays in 4 bits.
template <class T>
class TrainMatrix {
 public:
  explicit TrainMatrix(Weight rows) : rows_(std::move(rows)) {}

  // As those of the Weight.
  int64_t n_out() const { return rows_.n_out; }
  int64_t n_in() const { return rows_.n_in; }
  const Weight& file_rows() const { return rows_; }
  bool has_values() const { return values_.get() != nullptr; }
  bool is_trained() const { return gradient_.get() != nullptr; }
  T* values() const { return values_.as<T>(); }
  T* gradient() const { return gradient_.as<T>(); }
  int64_t n_bytes() const { return values_.n_bytes() + gradient_.n_bytes(); }

  // Decodes all rows to values of its own, which are then read in their place. Fails:
  // out_of_memory.
  Status make_values();
  // From now on it has a gradient, and values of its own. Fails: out_of_memory.
  Status train();
  // Row i, wherever it is.
  void read_row(int64_t i, T* to) const;

 private:
  Weight rows_;
  Buffer values_, gradient_;
};

// The matrices of a device. Weights with the same rows, such as an embedding and the output that is
// tied to it, are one.
template <class T>
class TrainMatrices {
 public:
  // Requires: plain rows.
  TrainMatrix<T>& of(const Weight& weight);
  int64_t n_bytes() const;

 private:
  // By the address of the first row.
  std::multimap<uint64_t, std::unique_ptr<TrainMatrix<T>>> matrices_;
};

}  // namespace ruv
