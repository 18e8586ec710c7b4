// What quantize_model will write: each tensor with the format it gets and what is known of its
// columns.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "format/gguf_export.h"
#include "format/importance.h"
#include "format/quant_mix.h"
#include "format/tensor_rules.h"

namespace ruv {

// A tensor with the format it will get.
struct PlannedTensor {
  ExportTensor tensor;
  DType from = DType::f32;
  DType to = DType::f32;
  bool is_free = false;                         // a quantised tensor whose format no rule says
  const ImportanceEntry* importance = nullptr;  // null: nothing is known of its columns

  // Experts are matrices of one tensor, with columns of their own.
  int64_t n_matrices() const { return tensor.shape.size() > 2 ? tensor.shape.front() : 1; }
  int64_t n_numbers() const { return tensor.n_rows() * tensor.n_columns(); }
  uint64_t bytes_out() const;
};

struct PlanOptions {
  const Importance* importance = nullptr;
  std::span<const TensorRule> rules = {};
  std::function<void(std::string_view)> on_missing = {};
};

// By the mix of the type, and rules. Fails: as quantize_model before it writes.
Result<std::vector<PlannedTensor>> plan_tensors(const ModelFile& in, const QuantType& type,
                                                const PlanOptions& options);
// That formats, which may have been chosen since, can be written: tensors that are quantised
// already, formats that need importance. Fails: invalid, naming the tensor.
Status check_plan(const ModelFile& in, std::span<const PlannedTensor> plan, const QuantType& type,
                  bool requantize);

// Importance of the columns by row of a tensor. Copies it once.
class ColumnImportance {
 public:
  explicit ColumnImportance(const PlannedTensor& planned);
  // n_columns numbers; null: nothing is known.
  const float* of_row(int64_t row) const {
    return means_.empty() ? nullptr : means_.data() + row / rows_of_matrix_ * n_columns_;
  }

 private:
  std::vector<float> means_;
  int64_t rows_of_matrix_ = 1;
  int64_t n_columns_ = 0;
};

}  // namespace ruv
