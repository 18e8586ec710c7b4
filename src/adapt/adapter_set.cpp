#include "adapt/adapter_set.h"

#include <algorithm>
#include <cmath>

#include "format/tensor_names.h"

namespace ruv {
namespace {

// Numbers of a matrix of a file as doubles. A column has a row of it, or with `by_columns` one of
// its columns.
Result<Columns> read_matrix(const AdapterFile& file, const TensorInfo& tensor, bool by_columns) {
  const int64_t n_rows = tensor.shape[0], n_cols = tensor.shape[1];
  Columns out = by_columns ? Columns(n_rows, n_cols) : Columns(n_cols, n_rows);
  std::vector<float> row(static_cast<size_t>(n_cols));
  for (int64_t i = 0; i < n_rows; ++i) {
    tensor.decode_row(i, row.data());
    for (int64_t j = 0; j < n_cols; ++j) {
      const float number = row[static_cast<size_t>(j)];
      if (!std::isfinite(number)) {
        return fail(Code::corrupt, "{}: tensor '{}', row {}, column {}: {} is not a finite number",
                    file.path, quoted_name(tensor.name), i, j, number);
      }
      out.col(by_columns ? j : i)[static_cast<size_t>(by_columns ? i : j)] = number;
    }
  }
  return out;
}

// scale · B · A of a module.
Result<ThinProduct> read_product(const AdapterFile& file, const AdapterModule& module) {
  if (!std::isfinite(module.scale)) {
    return fail(Code::corrupt, "{}: '{}': the scale {} is not a finite number", file.path,
                quoted_name(module.tensor), module.scale);
  }
  ThinProduct product{TRY(read_matrix(file, module.b, true)),
                      TRY(read_matrix(file, module.a, false))};
  for (double& number : product.b.numbers) number *= double{module.scale};
  return product;
}

// Names and orders differ between GGUF files and all others.
bool is_gguf_file(const AdapterFile& file) { return file.container == AdapterContainer::gguf; }

// Whether all that it does is to add products to matrices, which files of merged adapters can say.
Status check_is_sum(const AdapterFile& file) {
  const auto refused = [&file](const std::string& tensor, std::string_view what) {
    return fail(Code::unsupported, "{}: '{}' {}, which cannot be merged", file.path,
                quoted_name(tensor), what);
  };
  if (!file.directions.empty()) {
    return refused(file.directions.front().numbers.name, "is a direction of a control vector");
  }
  if (!file.stacks.empty()) {
    return refused(file.stacks.front().tensor, "is of a stack of experts");
  }
  for (const AdapterModule& module : file.modules) {
    if (module.has_magnitudes()) return refused(module.tensor, "has magnitudes (DoRA)");
    const bool has_biases = file.has_own_biases && !module.biases.shape.empty();
    if (has_biases) return refused(module.tensor, "has biases");
    if (module.is_embedding) return refused(module.tensor, "is an embedding");
  }
  for (const AdapterWhole& whole : file.wholes) {
    if (!whole.is_base) return refused(whole.tensor, "is a whole matrix");
  }
  return {};
}

}  // namespace

int64_t SetModule::sum_of_ranks() const {
  int64_t sum = 0;
  for (const auto& part : parts) sum += part.second->rank();
  return sum;
}

int64_t SetModule::largest_rank() const {
  int64_t largest = 0;
  for (const auto& part : parts) largest = std::max(largest, part.second->rank());
  return largest;
}

Result<AdapterSet> AdapterSet::join(std::span<const AdapterFile> files, MergeRecipe recipe) {
  TRY(check_recipe(recipe, files.size()));
  AdapterSet set(files, std::move(recipe));
  std::map<std::string, size_t> places;  // in modules_
  for (size_t i = 0; i < files.size(); ++i) {
    if (is_gguf_file(files[i]) != set.is_gguf()) {
      return fail(Code::invalid,
                  "{} is a GGUF file and {} is not: their tensors have other names and rows in "
                  "another order; give adapters of one kind",
                  files[set.is_gguf() ? 0 : i].path, files[set.is_gguf() ? i : 0].path);
    }
    TRY(set.add(i, places));
  }
  std::ranges::sort(set.modules_, {}, &SetModule::tensor);
  return set;
}

Status AdapterSet::add(size_t adapter, std::map<std::string, size_t>& places) {
  TRY(check_is_sum(files_[adapter]));
  for (const AdapterModule& module : files_[adapter].modules) {
    const auto [found, is_new] = places.try_emplace(module.tensor, modules_.size());
    if (is_new) {
      modules_.push_back(
          {module.tensor, module.b.shape[0], module.a.shape[1], {{adapter, &module}}});
      continue;
    }
    SetModule* const at = &modules_[found->second];
    if (at->n_out != module.b.shape[0] || at->n_in != module.a.shape[1]) {
      return fail(Code::invalid, "'{}' is {} by {} in {}, and {} by {} in {}",
                  quoted_name(module.tensor), at->n_out, at->n_in,
                  files_[at->parts.front().first].path, module.b.shape[0], module.a.shape[1],
                  files_[adapter].path);
    }
    at->parts.emplace_back(adapter, &module);
  }
  return {};
}

Result<std::string> AdapterSet::base() const {
  const AdapterFile* first = nullptr;
  for (const AdapterFile& file : files_) {
    if (file.base.empty()) continue;
    if (first == nullptr) first = &file;
    if (file.base != first->base) {
      return fail(Code::invalid,
                  "{} was made for '{}' and {} for '{}'; say which it is with --base", first->path,
                  quoted_name(first->base), file.path, quoted_name(file.base));
    }
  }
  return first == nullptr ? std::string() : first->base;
}

std::vector<FileId> AdapterSet::inputs() const {
  std::vector<FileId> ids;
  for (const AdapterFile& file : files_) {
    for (const MappedFile& mapped : file.files) ids.push_back(mapped.id());
    if (const Result<FileId> id = id_of(file.path + "/adapter_config.json")) ids.push_back(*id);
  }
  return ids;
}

Result<MergedChange> AdapterSet::change(const SetModule& module, int64_t max_bytes,
                                        WorkerPool& pool) const {
  // The last one alone where the others have no part.
  const bool only_last = recipe_.strategy == MergeStrategy::most_recent;
  std::vector<ModuleChange> changes;
  for (size_t i = only_last ? module.parts.size() - 1 : 0; i < module.parts.size(); ++i) {
    const auto& [adapter, part] = module.parts[i];
    changes.push_back({adapter, TRY(read_product(files_[adapter], *part))});
  }
  return merged_change(recipe_, changes, module.tensor, files_.size(), max_bytes, pool);
}

}  // namespace ruv
