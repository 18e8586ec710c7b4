// WeightSource: takes tensors of a file by name as rows of numbers, checked against the expected
// shape and put in the order the decoder wants, ready to be packed.
#pragma once

#include <string>

#include "device/weight.h"
#include "format/model_file.h"
#include "model/hparams.h"

namespace ruv {

// A matrix by its rows. `owned` keeps memory of rows that are not in the file itself.
struct MatrixRows {
  DType dtype = DType::f32;
  int64_t n_in = 0;
  std::vector<const std::byte*> rows;
  std::shared_ptr<Buffer> owned;

  // Rows [first, first + n): a fused projection's part.
  MatrixRows part(int64_t first, int64_t n) const;
};

class WeightSource {
 public:
  WeightSource(const ModelFile& file, const Kernels& kernels, WorkerPool& pool)
      : file_(&file), kernels_(&kernels), pool_(&pool) {}

  bool has(std::string_view name) const { return file_->find_tensor(name) != nullptr; }
  // Fails: not_found, corrupt (shape), each naming the tensor. n_out < 0: any number of rows.
  Result<MatrixRows> matrix(const std::string& name, int64_t n_out, int64_t n_in) const;
  // A vector as float32.
  Result<Vector> vector(const std::string& name, int64_t n) const;
  // As vector, or empty when the file has none.
  Result<Vector> optional_vector(const std::string& name, int64_t n) const;
  // A norm's weights: 1 is added where the file stores them less one.
  Result<Vector> norm(const std::string& name, int64_t n) const;
  Result<Weight> pack(const MatrixRows& matrix) const;
  // Plain rows for looking up, not multiplying.
  static Weight lookup(MatrixRows matrix);

 private:
  Result<const TensorInfo*> find(const std::string& name) const;
  Result<MatrixRows> transposed(const TensorInfo& tensor) const;

  const ModelFile* file_;
  const Kernels* kernels_;
  WorkerPool* pool_;
};

// Rows of q or k in `neighbours` order put into halves: within each head of head_dim rows, row
// s · n_dims/2 + i comes from row 2i + s (s in {0, 1}); rows from n_dims on stay.
std::vector<int64_t> halves_from_neighbours(int64_t n_rows, int64_t head_dim, int64_t n_dims);

}  // namespace ruv
