// AdapterHalves: joins the two matrices of each module of an adapter as a reader finds them.
#pragma once

#include <map>

#include "format/adapter_file.h"

namespace ruv {

class AdapterHalves {
 public:
  // `source` is quoted in errors, and must outlive this.
  explicit AdapterHalves(const std::string& source) : source_(&source) {}

  // The half A or B of a tensor of the base, or of a stack of experts; `from` is the tensor's own
  // name in the file. Fails: corrupt (not a matrix, the half is there twice).
  Status add(std::string tensor, bool is_b, TensorInfo half, std::string_view from);
  // A number for each of its rows, (n_out, 1): their lengths, or biases. Fails: corrupt (they are
  // there twice).
  Status add_column(std::string tensor, bool is_bias, TensorInfo column, std::string_view from);
  // Says that it is an embedding.
  void note_embedding(const std::string& tensor) { halves_[tensor].is_embedding = true; }
  // All modules and stacks, by name, with scale 1. Fails: corrupt (a half is missing, ranks or
  // experts that differ, more or fewer lengths or biases than rows, nothing at all).
  Status take(AdapterFile& to);

 private:
  struct Halves {
    std::optional<TensorInfo> a, b, magnitudes, biases;
    std::string from;
    bool is_embedding = false;
  };
  // Fails: as take().
  Result<AdapterStack> stack_of(const std::string& tensor, Halves& halves) const;
  // Gives a tensor a part that it has not yet. Fails: corrupt, naming `from`.
  Status put(std::optional<TensorInfo>& place, TensorInfo part, Halves& halves,
             std::string_view from) const;

  const std::string* source_;
  std::map<std::string, Halves> halves_;
};

// A matrix whose rows are the columns of this one, which must have blocks of one number.
TensorInfo transposed_matrix(TensorInfo matrix);
// A tensor of a checkpoint as TensorInfo. `transposed`: its rows are the columns of the result.
// Fails: unsupported (a type without numbers), corrupt (not a matrix), naming it. With `stacks` it
// may be a stack of matrices (three dimensions), which is taken as it is.
Result<TensorInfo> adapter_matrix(const SafetensorsTensor& stored, bool transposed,
                                  const std::string& source, bool stacks = false);
// A vector as (n, 1). Fails: as adapter_matrix.
Result<TensorInfo> adapter_column(SafetensorsTensor stored, const std::string& source);

}  // namespace ruv
