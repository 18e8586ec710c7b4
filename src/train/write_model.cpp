#include "train/write_model.h"

#include <algorithm>

#include "format/gguf_rows.h"

namespace ruv {
namespace {

constexpr std::string_view kHead = "cls.output.weight";

// Tensors of the file, those that were trained with their numbers in memory.
class TrainedExport {
 public:
  TrainedExport(const ModelFile& file, std::vector<TrainedTensor> trained)
      : trained_(std::move(trained)) {
    tensors_.reserve(trained_.size());
    for (const TrainedTensor& tensor : trained_) {
      TensorInfo& info = tensors_.emplace_back(*file.find_tensor(tensor.name));
      info.dtype = DType::f32;
      info.bytes = std::as_bytes(std::span(tensor.numbers));
      info.steps.clear();
      info.maker = nullptr;
      info.first_row = 0;
    }
  }
  // Puts the trained parts in the place of the file's. Whether there are some.
  bool replace_parts(ExportTensor& tensor) const {
    bool replaces = false;
    for (const TensorInfo*& part : tensor.parts) {
      const auto found = std::ranges::find(tensors_, part->name, &TensorInfo::name);
      if (found == tensors_.end()) continue;
      part = &*found;
      replaces = true;
    }
    return replaces;
  }

 private:
  std::vector<TrainedTensor> trained_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace

Status write_trained_model(const Model& model, const Parameters<float>& parameters, DType dtype,
                           const std::string& path, FileTarget target,
                           std::span<const float> head) {
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16) {
    return fail(Code::invalid, "trained models are written as f32, f16 or bf16, not {}",
                format_of(dtype).name);
  }
  const ModelFile& file = *model.file;
  if (!head.empty() && file.find_tensor(kHead) != nullptr) {
    return fail(Code::unsupported, "{}: has a classifier already", file.path());
  }
  const TrainedExport trained(file, TRY(trained_tensors(model, parameters)));
  std::vector<WrittenTensor> plan;
  std::vector<ExportTensor> tensors = TRY(export_tensors(file));
  for (ExportTensor& tensor : tensors) {
    const bool changes = trained.replace_parts(tensor);
    plan.push_back(written_tensor(std::move(tensor), changes, dtype));
  }
  return rewrite_model(file, plan, path,
                       {.last_name = kHead, .last = head, .target = std::move(target)});
}

}  // namespace ruv
