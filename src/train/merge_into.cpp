#include "train/merge_into.h"

#include <algorithm>

#include "format/gguf_rows.h"
#include "model/adapter_load.h"
#include "model/merged_rows.h"
#include "train/train_device.h"

namespace ruv {
namespace {

// How many of a tensor's rows change.
int64_t count_changes(const ExportTensor& tensor, const MergedRows& rows) {
  int64_t n = 0;
  for (int64_t i = 0; i < tensor.n_rows(); ++i) {
    const Bytes stored = stored_row(tensor, i);
    if (!stored.empty() && rows.changes(stored.data())) ++n;
  }
  return n;
}

// What is quantised would be rounded twice.
DType type_of_changed(const ExportTensor& tensor, const MergeIntoOptions& options) {
  if (options.dtype) return *options.dtype;
  const DType from = tensor.parts.front()->dtype;
  const bool is_plain = from == DType::f32 || from == DType::f16 || from == DType::bf16;
  return is_plain ? from : DType::f16;
}

// Changes refer to the matrices only while they are made.
Result<MergedRows> rows_of(const Model& model, const std::vector<AdapterToMerge>& adapters) {
  std::vector<FileMatrices> found;
  std::vector<MergedFile> files;
  for (const AdapterToMerge& adapter : adapters) {
    found.push_back(TRY(find_matrices(model, adapter.file)));
    if (!found.back().directions.empty()) {
      return fail(Code::unsupported, "{}: is a control vector, which no matrix can have in it",
                  adapter.file.path);
    }
    if (!found.back().wholes.empty()) {
      return fail(Code::unsupported, "{}: has whole matrices, which are not merged",
                  adapter.file.path);
    }
  }
  for (size_t i = 0; i < found.size(); ++i) {
    files.push_back({found[i].matrices, found[i].order, adapters[i].scale});
  }
  return MergedRows::create(model, files);
}

}  // namespace

// The training device packs nothing, so that weights are rows of the file.
Result<MergeIntoSummary> merge_into_model(const std::string& model_path,
                                          const std::vector<AdapterToMerge>& adapters,
                                          const std::string& out_path,
                                          const MergeIntoOptions& options) {
  const auto device = make_train_device<float>();
  LoadOptions load;
  load.draft_head = false;
  const std::shared_ptr<const Model> model = TRY(load_model_on(device, model_path, load));
  const MergedRows rows = TRY(rows_of(*model, adapters));
  MergeIntoSummary summary;
  std::vector<WrittenTensor> plan;
  std::vector<ExportTensor> tensors = TRY(export_tensors(*model->file));
  for (ExportTensor& tensor : tensors) {
    const int64_t n_changes = count_changes(tensor, rows);
    const DType dtype = n_changes > 0 ? type_of_changed(tensor, options) : DType::f32;
    summary.n_matrices += n_changes > 0 ? 1 : 0;
    summary.n_rows += n_changes;
    plan.push_back(written_tensor(std::move(tensor), n_changes > 0, dtype));
  }
  if (summary.n_rows != rows.n_rows()) {
    return fail(Code::unsupported, "{}: {} rows change, of which the file has {} as they are used",
                model_path, rows.n_rows(), summary.n_rows);
  }
  FileTarget target{.replace = options.replace, .never = {}};
  for (const AdapterToMerge& adapter : adapters) {
    for (const MappedFile& file : adapter.file.files) target.never.push_back(file.id());
  }
  TRY(rewrite_model(*model->file, plan, out_path,
                    {.rows = &rows, .target = std::move(target), .go_on = options.go_on}));
  for (const AdapterToMerge& adapter : adapters) {
    for (const MappedFile& file : adapter.file.files) TRY(file.check_read());
  }
  return summary;
}

}  // namespace ruv
