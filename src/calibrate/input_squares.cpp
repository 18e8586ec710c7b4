// Products are known by the address of their matrix in the model, which the decoder hands to the
// operations. Names are those of roles; a file may have fused tensors in their place.
#include "calibrate/input_squares.h"

#include <algorithm>

#include "format/gguf_export.h"
#include "format/quant_mix.h"
#include "model/role.h"

namespace ruv {

// The first matrix of a name stands for all: others of it, as the parts of "ssm_in", have the same
// inputs.
void InputSquares::add(std::string name, std::span<const Weight> matrices) {
  if (matrices.empty()) return;
  const bool is_known = std::ranges::find(entries_, name, &Entry::name) != entries_.end();
  if (is_known) return;
  const auto n = std::ssize(matrices);
  const int64_t n_columns = matrices.front().n_in;
  Entry entry{.name = std::move(name), .n_columns = n_columns};
  entry.sums.resize(static_cast<size_t>(n * n_columns));
  entry.counts.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    places_.emplace(&matrices[static_cast<size_t>(i)], Place{entries_.size(), i});
  }
  entries_.push_back(std::move(entry));
}

void InputSquares::follow(const Model& model) {
  for (size_t i = 0; i < model.layers.size(); ++i) {
    for (const RoleRow& row : role_rows()) {
      add(fmt::format("blk.{}.{}.weight", i, row.tensor), model.layers[i][row.role].matrices());
    }
  }
  if (model.output.empty()) return;
  const bool is_tied = model.file->find_tensor("output.weight") == nullptr;
  add(is_tied ? "token_embd.weight" : "output.weight", {&model.output, 1});
}

// In the order of rows, in double: the sums do not depend on how a text is cut into steps.
void InputSquares::on_product(const Weight& weight, HostRows x) {
  const auto found = places_.find(&weight);
  if (found == places_.end()) return;
  Entry& entry = entries_[found->second.entry];
  double* const sums = entry.sums.data() + found->second.matrix * entry.n_columns;
  for (int64_t r = 0; r < x.n_rows; ++r) {
    const float* const row = x.row(r);
    for (int64_t c = 0; c < x.n_cols; ++c) {
      const auto number = static_cast<double>(row[c]);
      sums[c] += number * number;
    }
  }
  entry.counts[static_cast<size_t>(found->second.matrix)] += x.n_rows;
}

Importance InputSquares::all() const {
  Importance importance;
  for (const Entry& entry : entries_) {
    ImportanceEntry& to = importance.entries[entry.name];
    for (const double sum : entry.sums) to.sums.push_back(static_cast<float>(sum));
    for (const int64_t count : entry.counts) to.counts.push_back(static_cast<float>(count));
  }
  // A fused tensor has the inputs of its first part.
  for (const Entry& entry : entries_) {
    for (const FusedRow& fused : fused_rows()) {
      const auto part = std::ranges::find(role_rows(), fused.parts.front(), &RoleRow::role);
      const std::string ending = fmt::format(".{}.weight", part->tensor);
      if (!entry.name.ends_with(ending)) continue;
      const std::string stem = entry.name.substr(0, entry.name.size() - ending.size());
      importance.entries.try_emplace(fmt::format("{}.{}.weight", stem, fused.tensor),
                                     importance.entries.at(entry.name));
    }
  }
  return importance;
}

Result<InputSquares::OfFile> InputSquares::of_file(const Model& model) const {
  Importance known = all();
  OfFile result;
  for (const ExportTensor& tensor : TRY(export_tensors(*model.file))) {
    if (!is_quantizable(tensor.name, tensor.shape.size())) continue;
    const auto found = known.entries.find(tensor.name);
    const int64_t n_matrices = tensor.shape.size() > 2 ? tensor.shape.front() : 1;
    if (found != known.entries.end() &&
        !mean_squares(found->second, tensor.n_columns(), n_matrices).empty() &&
        std::ranges::any_of(found->second.counts, [](float n) { return n > 0.0F; })) {
      result.importance.entries.insert(known.entries.extract(found));
    } else {
      result.missing.push_back(tensor.name);
    }
  }
  return result;
}

void InputSquares::round_to_file() {
  for (Entry& entry : entries_) {
    for (double& sum : entry.sums) sum = static_cast<double>(static_cast<float>(sum));
  }
}

Status InputSquares::restore(const Importance& importance) {
  for (Entry& entry : entries_) {
    const auto found = importance.entries.find(entry.name);
    if (found == importance.entries.end() || found->second.sums.size() != entry.sums.size() ||
        found->second.counts.size() != entry.counts.size()) {
      return fail(Code::invalid, "the saved sums are of another model: '{}' differs", entry.name);
    }
    std::ranges::copy(found->second.sums, entry.sums.begin());
    std::ranges::transform(found->second.counts, entry.counts.begin(),
                           [](float n) { return static_cast<int64_t>(n); });
  }
  return {};
}

}  // namespace ruv
