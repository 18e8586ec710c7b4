#include "format/quant_plan.h"

#include <algorithm>

#include "format/quantizable.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

bool is_integer(DType dtype) {
  return dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
}

// Sets the format of the first rule that fits; counts what rules fit.
Status apply_rules(const PlanOptions& options, PlannedTensor& planned,
                   std::vector<int64_t>& n_fitting) {
  for (size_t i = 0; i < options.rules.size(); ++i) {
    const TensorRule& rule = options.rules[i];
    if (!fits_pattern(planned.tensor.name, rule.pattern)) continue;
    n_fitting[i] += 1;
    if (!planned.is_free) continue;
    const Format& format = format_of(rule.dtype);
    if (planned.tensor.n_columns() % format.block_size != 0) {
      return fail(Code::invalid,
                  "rule '{}={}': tensor '{}' has rows of {} numbers, {} has blocks of {}",
                  quoted_name(rule.pattern), format.name, quoted_name(planned.tensor.name),
                  planned.tensor.n_columns(), format.name, format.block_size);
    }
    planned.to = rule.dtype;
    planned.is_free = false;
  }
  return {};
}

// Finds the entry of a tensor. A table of embeddings has none: its rows are looked up, where all
// columns count alike, which moves answers more than its products where it is the output too.
// Fails: invalid, where the entry is of another size.
Status find_importance(const PlanOptions& options, PlannedTensor& planned) {
  if (options.importance == nullptr || planned.tensor.name == "token_embd.weight") return {};
  const auto found = options.importance->entries.find(planned.tensor.name);
  if (found == options.importance->entries.end()) {
    if (options.on_missing) options.on_missing(planned.tensor.name);
    return {};
  }
  if (mean_squares(found->second, planned.tensor.n_columns(), planned.n_matrices()).empty()) {
    return fail(Code::invalid,
                "importance of '{}' has {} numbers in {} parts, the tensor {} columns in {} "
                "matrices: it was measured with another model",
                quoted_name(planned.tensor.name), found->second.sums.size(),
                found->second.counts.size(), planned.tensor.n_columns(), planned.n_matrices());
  }
  planned.importance = &found->second;
  return {};
}

// Integer tensors keep their type; norms and the like become float32.
Status plan_format(const QuantType& type, const MixFacts& facts, const PlanOptions& options,
                   PlannedTensor& planned, std::vector<int64_t>& n_fitting) {
  const ExportTensor& tensor = planned.tensor;
  planned.to = is_integer(planned.from) ? planned.from : DType::f32;
  if (is_integer(planned.from) || !is_quantizable(tensor.name, tensor.shape.size())) return {};
  planned.to = mixed_format(type, tensor.name, tensor.n_columns(), facts);
  planned.is_free = true;
  TRY(apply_rules(options, planned, n_fitting));
  return find_importance(options, planned);
}

}  // namespace

uint64_t PlannedTensor::bytes_out() const {
  return static_cast<uint64_t>(format_of(to).bytes_of(tensor.n_columns()) * tensor.n_rows());
}

Result<std::vector<PlannedTensor>> plan_tensors(const ModelFile& in, const QuantType& type,
                                                const PlanOptions& options) {
  MixFacts facts = mix_facts(in);
  facts.has_importance = options.importance != nullptr;
  std::vector<PlannedTensor> plan;
  std::vector<int64_t> n_fitting(options.rules.size());
  std::vector<ExportTensor> tensors = TRY(export_tensors(in));
  for (ExportTensor& tensor : tensors) {
    PlannedTensor planned{.tensor = std::move(tensor)};
    if (!planned.tensor.parts.empty()) planned.from = planned.tensor.parts.front()->dtype;
    TRY(plan_format(type, facts, options, planned, n_fitting));
    plan.push_back(std::move(planned));
  }
  for (size_t i = 0; i < n_fitting.size(); ++i) {
    if (n_fitting[i] > 0) continue;
    return fail(Code::invalid, "rule '{}={}' fits no tensor that is quantised",
                quoted_name(options.rules[i].pattern), format_of(options.rules[i].dtype).name);
  }
  return plan;
}

Status check_plan(const ModelFile& in, std::span<const PlannedTensor> plan, const QuantType& type,
                  bool requantize) {
  for (const PlannedTensor& planned : plan) {
    const Format& from = format_of(planned.from);
    const char* const to = format_of(planned.to).name;
    if (from.block_size > 1 && planned.from != planned.to && !requantize) {
      return fail(Code::invalid,
                  "{}: tensor '{}' is {} already and type {} wants {}; quantise the original "
                  "model, or accept the errors of both with --requantize",
                  in.path(), quoted_name(planned.tensor.name), from.name, type.name, to);
    }
    if (planned.importance == nullptr && planned.from != planned.to &&
        needs_importance(type, planned.tensor.name, planned.to)) {
      return fail(Code::invalid,
                  "{}: {} of tensor '{}' needs to know which columns matter: measure them with "
                  "`ruvllm imatrix` and give the file with --imatrix",
                  in.path(), to, quoted_name(planned.tensor.name));
    }
  }
  return {};
}

ColumnImportance::ColumnImportance(const PlannedTensor& planned)
    : n_columns_(planned.tensor.n_columns()) {
  if (planned.importance == nullptr) return;
  means_ = mean_squares(*planned.importance, n_columns_, planned.n_matrices());
  rows_of_matrix_ = std::max<int64_t>(planned.tensor.n_rows() / planned.n_matrices(), 1);
}

}  // namespace ruv
