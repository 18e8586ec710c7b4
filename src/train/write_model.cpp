#include "train/write_model.h"

#include <algorithm>
#include <cmath>

#include "format/gguf_export.h"
#include "format/gguf_writer.h"
#include "format/quant_mix.h"

namespace ruv {
namespace {

constexpr int64_t kRowsAtOnce = 64;
constexpr std::string_view kHead = "cls.output.weight";
constexpr float kGreatestHalf = 65504.0F;

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
      info.scales = {};
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

// A tensor with the format it gets.
struct WrittenTensor {
  ExportTensor tensor;
  DType from, to;
};

// Norms and biases become float32 and integers stay, as quantize_model() has them.
std::vector<WrittenTensor> plan_written(std::vector<ExportTensor> tensors,
                                        const TrainedExport& trained, DType dtype) {
  std::vector<WrittenTensor> plan;
  for (ExportTensor& tensor : tensors) {
    const bool is_trained = trained.replace_parts(tensor);
    const DType from = tensor.parts.empty() ? DType::f32 : tensor.parts.front()->dtype;
    const bool is_matrix = is_quantizable(tensor.name, tensor.shape.size());
    const bool is_integer = from >= DType::i8 && from <= DType::i64;
    const DType kept = is_matrix || is_integer ? from : DType::f32;
    const DType to = is_matrix && is_trained ? dtype : kept;
    plan.push_back({std::move(tensor), from, to});
  }
  return plan;
}

// The bytes of a row where it stays as it is, else its numbers encoded.
Status append_row(const WrittenTensor& written, int64_t row, std::vector<std::byte>& to) {
  const ExportTensor& tensor = written.tensor;
  if (written.from == written.to) {
    const Bytes stored = stored_row(tensor, row);
    if (!stored.empty()) {
      to.insert(to.end(), stored.begin(), stored.end());
      return {};
    }
  }
  std::vector<float> numbers(static_cast<size_t>(tensor.n_columns()));
  read_row(tensor, row, numbers.data());
  const float most = written.to == DType::f16 ? kGreatestHalf : INFINITY;
  if (!std::ranges::all_of(numbers, [&](float x) { return std::fabs(x) <= most; })) {
    return fail(Code::invalid, "tensor '{}', row {}: has a number that {} cannot hold", tensor.name,
                row, format_of(written.to).name);
  }
  const Format& format = format_of(written.to);
  if (format.encode == nullptr) {
    return fail(Code::unsupported, "tensor '{}': {} is not written", tensor.name, format.name);
  }
  const size_t at = to.size();
  to.resize(at + static_cast<size_t>(format.bytes_of(tensor.n_columns())));
  format.encode(numbers.data(), to.data() + at, tensor.n_columns());
  return {};
}

// Some rows at a time, so that memory does not grow with the tensor.
Status write_rows_of(const WrittenTensor& written, GgufWriter& out) {
  std::vector<std::byte> bytes;
  const int64_t n_rows = written.tensor.n_rows();
  for (int64_t row = 0; row < n_rows; ++row) {
    TRY(append_row(written, row, bytes));
    if ((row + 1) % kRowsAtOnce != 0 && row + 1 < n_rows) continue;
    TRY(out.write(bytes));
    bytes.clear();
  }
  return {};
}

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
  const std::vector<WrittenTensor> plan = plan_written(TRY(export_tensors(file)), trained, dtype);
  for (const MappedFile& part : file.files()) target.never.push_back(part.id());
  GgufWriter out = TRY(GgufWriter::create(path, std::move(target)));
  TRY(export_metadata(file, out));
  for (const WrittenTensor& written : plan) {
    out.declare_tensor(written.tensor.name, written.to, written.tensor.shape);
  }
  const int64_t head_shape[] = {1, std::ssize(head)};
  if (!head.empty()) out.declare_tensor(kHead, DType::f32, head_shape);
  TRY(out.begin_tensors());
  for (const WrittenTensor& written : plan) TRY(write_rows_of(written, out));
  if (!head.empty()) TRY(out.write(std::as_bytes(head)));
  return out.commit();
}

}  // namespace ruv
