// WeightSource: takes tensors of a file by name as rows of numbers, checked against the expected
// shape and put in the order the decoder wants, ready to be packed.
#pragma once

#include <set>
#include <string>

#include "base/faults.h"
#include "device/ops.h"
#include "device/packing.h"
#include "format/model_file.h"
#include "model/hparams.h"
#include "model/made_rows.h"
#include "model/packed_file.h"

namespace ruv {

// A matrix by its rows. `owned` keeps memory of rows that are not in the file itself.
struct MatrixRows {
  std::string name;
  DType dtype = DType::f32;
  int64_t n_in = 0;
  std::vector<const std::byte*> rows;
  std::shared_ptr<Buffer> owned;
  // Memory of rows that have no numbers until WeightSource makes them: pack(), lookup(), as_f32()
  // and transpose_of() do.
  std::vector<std::shared_ptr<MadeRows>> made = {};

  // Rows [first, first + n): a fused projection's part.
  MatrixRows part(int64_t first, int64_t n) const;
  // These rows, for a part whose rows do not lie together.
  MatrixRows pick(std::span<const int64_t> chosen) const;
};

// What pack() does besides packing. At most one of the first two is there.
struct PackPlan {
  const PackedFile* from = nullptr;  // matrices are taken from here
  PackedFileWriter* to = nullptr;    // matrices are packed into this
  // Called with the number of bytes that became ready.
  std::function<void(int64_t n_bytes)> on_bytes = {};
  // Shapes are checked and no byte of a tensor is read: matrices have no numbers, vectors zeros.
  bool shapes_only = false;
  // No matrix is packed: all are rows of the file, and those of experts, which may be copies, are
  // left out.
  bool plain = false;
  // Set, with shapes_only: a fault does not end the binding, and all are put here.
  Faults* faults = nullptr;
};

class WeightSource {
 public:
  // Weights are for `device`, which must outlive this object, as must the others.
  WeightSource(const ModelFile& file, Device& device, WorkerPool& pool, PackPlan plan)
      : file_(&file), device_(&device), pool_(&pool), plan_(std::move(plan)) {}

  bool has(std::string_view name) const { return file_->find_tensor(name) != nullptr; }
  // Fails: not_found, corrupt (shape), each naming the tensor. n_out < 0: any number of rows. What
  // reads rows itself calls make() before.
  Result<MatrixRows> matrix(const std::string& name, int64_t n_out, int64_t n_in) const;
  // As matrix(), as the file has it whatever type weights get as they load: a table that rows are
  // looked up in, of which few are in memory.
  Result<MatrixRows> table(const std::string& name, int64_t n_out, int64_t n_in) const;
  // Matrix `i` of n in a tensor (n, n_out, n_in). Fails: as matrix().
  Result<MatrixRows> of_stack(const std::string& name, int64_t i, int64_t n, int64_t n_out,
                              int64_t n_in) const;
  // Gives all rows their numbers, but where only shapes are wanted.
  Status make(const MatrixRows& matrix) const;
  // The transpose, in memory of its own: exactly the same numbers, in float32 where the matrix has
  // blocks of several. Fails: out_of_memory.
  Result<MatrixRows> transpose_of(const MatrixRows& matrix) const;
  // A vector as float32.
  Result<std::vector<float>> vector(const std::string& name, int64_t n) const;
  // n filters of `length` numbers each, one after the other.
  Result<std::vector<float>> filters(const std::string& name, int64_t n, int64_t length) const;
  // A norm's weights: 1 is added where the file stores them less one.
  Result<std::vector<float>> norm(const std::string& name, int64_t n) const;
  // Numbers on the device.
  Result<Vector> upload(std::vector<float> numbers) { return device_->vector(std::move(numbers)); }
  // From the packed file, or packed slice by slice; pages of the model's file that were read are
  // given back on the way, so that the weights are hardly ever in memory twice. A matrix that the
  // packed file lacks is packed into memory of its own, and counted.
  Result<Weight> pack(const MatrixRows& matrix);
  int64_t n_lacking() const { return n_lacking_; }
  // All that pack() made that is packed.
  const std::vector<Weight>& packed() const { return packed_; }
  bool skips_experts() const { return plan_.plain; }
  // The matrix in float32; without numbers where only shapes are wanted. Fails: out_of_memory.
  Result<MatrixRows> as_f32(MatrixRows matrix) const;
  // A fault in binding the tensors whose names begin with `prefix`, which then count as used: kept
  // where the plan asks for all faults, else returned.
  Status noted(const std::string& prefix, Status status);
  // Whether the tensor was asked for.
  bool was_used(const std::string& name) const;
  // Plain rows for looking up, not multiplying.
  Result<Weight> lookup(const MatrixRows& matrix);

 private:
  Result<const TensorInfo*> find(const std::string& name) const;
  Status refuse_scale(const std::string& name) const;
  Result<MatrixRows> rows_of(const TensorInfo& tensor, std::string name, Range rows) const;
  // Rows on the device, which keep those alive that do not lie in the file.
  Result<PlainRows> take_rows(const MatrixRows& matrix, int64_t row_bytes) const;
  Status make(const MatrixRows& matrix, Range rows) const;
  Result<MatrixRows> matrix_of(const TensorInfo& tensor, int64_t n_out, int64_t n_in) const;
  Result<DeviceMemory> packed_memory(const Weight& weight, const MatrixRows& matrix);
  Status pack_slices(const Weight& weight, const MatrixRows& matrix, std::byte* to);
  Status write_copy(const Buffer& packed);
  void ready(int64_t n_bytes);
  // Asks for what the model's file has from a row on, some way ahead of what is packed.
  void ask_ahead(const std::byte* row);

  const ModelFile* file_;
  Device* device_;
  WorkerPool* pool_;
  PackPlan plan_;
  mutable std::set<std::string, std::less<>> used_;
  std::vector<std::string> faulty_;  // beginnings of names that were asked for in vain
  int64_t n_lacking_ = 0;
  std::vector<Weight> packed_;
  int64_t n_unreturned_ = 0;  // bytes packed since pages were last given back
  uintptr_t asked_ = 0;       // the address of the row from which more was asked for last
};

// Bytes of a model's matrices once packed, or nearly: fused projections are padded a little more.
int64_t packed_bytes_of(const ModelFile& file, const Packing& packing);

}  // namespace ruv
