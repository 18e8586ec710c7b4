// AdapterHalves: joins the two matrices of each module of an adapter as a reader finds them.
#pragma once

#include <map>

#include "format/adapter_file.h"

namespace ruv {

class AdapterHalves {
 public:
  // `source` is quoted in errors, and must outlive this.
  explicit AdapterHalves(const std::string& source) : source_(&source) {}

  // The half A or B of a tensor of the base; `from` is the tensor's own name in the file. Fails:
  // corrupt (not a matrix, the half is there twice).
  Status add(std::string tensor, bool is_b, TensorInfo half, std::string_view from);
  // All modules, by name, with scale 1. Fails: corrupt (a half is missing, ranks that differ, no
  // module at all).
  Result<std::vector<AdapterModule>> take();

 private:
  struct Halves {
    std::optional<TensorInfo> a, b;
    std::string from;
  };
  const std::string* source_;
  std::map<std::string, Halves> halves_;
};

// A tensor of a checkpoint as TensorInfo. `transposed`: its rows are the columns of the result.
// Fails: unsupported (a type without numbers), corrupt (not a matrix), naming it.
Result<TensorInfo> adapter_matrix(const SafetensorsTensor& stored, bool transposed,
                                  const std::string& source);

}  // namespace ruv
