// Streaming quantisation: plan all tensors, write the header, then for each tensor repeat "read
// some rows, check them, encode them, write them".
#include "format/quantize.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/folder.h"
#include "base/worker_pool.h"
#include "format/file_contents.h"
#include "format/gguf_export.h"
#include "format/gguf_writer.h"
#include "format/quant_mix.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

// Numbers converted between two writes; large enough for all threads, 16 MB as float32.
constexpr int64_t kChunkNumbers = int64_t{1} << 22;
constexpr uint32_t kQuantizationVersion = 2;
// A hash of the source: of what add_contents() takes of it.
constexpr std::string_view kSourceKey = "quantize.source_hash";
constexpr float kGreatestF16 = 65504.0F;

// A tensor with the format it will get.
struct PlannedTensor {
  ExportTensor tensor;
  DType from = DType::f32;
  DType to = DType::f32;
};

bool is_integer(DType dtype) {
  return dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
}

// The facts from the model's metadata.
MixFacts facts_of(const ModelFile& model) {
  MixFacts facts;
  facts.n_layers = model.integer("block_count").value_or(0);
  facts.n_experts = model.integer("expert_count").value_or(0);
  const auto heads = model.integers("attention.head_count").value_or(std::vector<int64_t>{1});
  const int64_t n_heads = heads.empty() ? 1 : std::ranges::max(heads);
  // Layers without key heads have no matrices that depend on their number.
  const auto counts = model.integers("attention.head_count_kv").value_or(std::vector{n_heads});
  const int64_t n_kv_heads = counts.empty() ? 0 : std::ranges::max(counts);
  if (n_kv_heads > 0) facts.heads_per_kv_head = n_heads / n_kv_heads;
  facts.tied_embeddings = model.find_tensor("output.weight") == nullptr;
  return facts;
}

std::string known_types() {
  std::string names;
  for (const QuantType& type : quant_types()) names += fmt::format(" {}", type.name);
  return names;
}

// Integer tensors keep their type; norms and the like become float32.
DType planned_format(const QuantType& type, const PlannedTensor& planned, const MixFacts& facts) {
  const ExportTensor& tensor = planned.tensor;
  if (is_integer(planned.from)) return planned.from;
  if (!is_quantizable(tensor.name, tensor.shape.size())) return DType::f32;
  return mixed_format(type, tensor.name, tensor.n_columns(), facts);
}

// Refuses what is too bad without the importance of columns.
Status check_unweighed(const ModelFile& in, const QuantType& type, const PlannedTensor& planned) {
  if (!needs_importance(type, planned.tensor.name, planned.to)) return {};
  return fail(Code::invalid,
              "{}: type {} has tensor '{}' as {}, which is not written without the importance of "
              "its columns; choose a type of more bits, such as q2_k or iq3_s",
              in.path(), type.name, quoted_name(planned.tensor.name), format_of(planned.to).name);
}

// Checks everything that can be checked before writing.
Result<std::vector<PlannedTensor>> plan_tensors(const ModelFile& in, const QuantType& type,
                                                bool requantize) {
  const MixFacts facts = facts_of(in);
  std::vector<PlannedTensor> plan;
  std::vector<ExportTensor> tensors = TRY(export_tensors(in));
  for (ExportTensor& tensor : tensors) {
    PlannedTensor planned{.tensor = std::move(tensor)};
    if (!planned.tensor.parts.empty()) planned.from = planned.tensor.parts.front()->dtype;
    planned.to = planned_format(type, planned, facts);
    const Format& from = format_of(planned.from);
    if (from.block_size > 1 && planned.from != planned.to && !requantize) {
      return fail(Code::invalid,
                  "{}: tensor '{}' is {} already and type {} wants {}; quantise the original "
                  "model, or accept the errors of both with --requantize",
                  in.path(), quoted_name(planned.tensor.name), from.name, type.name,
                  format_of(planned.to).name);
    }
    if (planned.from != planned.to && !facts.has_importance) {
      TRY(check_unweighed(in, type, planned));
    }
    plan.push_back(std::move(planned));
  }
  return plan;
}

// The greatest magnitude that survives in a format.
float greatest_in(DType dtype) {
  const bool wide = dtype == DType::f32 || dtype == DType::bf16;
  return wide ? std::numeric_limits<float>::max() : kGreatestF16;
}

// Index of the first number that is not finite or above the greatest; -1 when all are well.
int64_t first_misfit(const float* x, int64_t n, float greatest) {
  for (int64_t i = 0; i < n; ++i) {
    if (!(std::fabs(x[i]) <= greatest)) return i;
  }
  return -1;
}

// Buffers for one slice of rows, reused for all tensors.
class TensorConversion {
 public:
  TensorConversion(const ModelFile& in, GgufWriter& out, int n_threads)
      : in_(in), out_(out), workers_(n_threads) {}

  Status convert(const PlannedTensor& planned);

 private:
  Status convert_rows(const PlannedTensor& planned, Range rows);
  void convert_row(const PlannedTensor& planned, int64_t row, float* numbers, std::byte* bytes);
  Status misfit(const PlannedTensor& planned, int64_t row) const;

  const ModelFile& in_;
  GgufWriter& out_;
  WorkerPool workers_;
  std::vector<std::byte> encoded_;
  std::vector<std::vector<float>> rows_;  // one buffer per thread
  std::atomic<int64_t> bad_row_{-1};
};

Status TensorConversion::convert(const PlannedTensor& planned) {
  const ExportTensor& tensor = planned.tensor;
  const int64_t n_columns = std::max<int64_t>(tensor.n_columns(), 1);
  const int64_t chunk = std::max<int64_t>(kChunkNumbers / n_columns, 1);
  rows_.resize(static_cast<size_t>(workers_.n_threads()));
  for (auto& row : rows_) row.resize(static_cast<size_t>(n_columns));
  for (int64_t row = 0; row < tensor.n_rows(); row += chunk) {
    TRY(convert_rows(planned, {row, std::min(row + chunk, tensor.n_rows())}));
  }
  return {};
}

Status TensorConversion::convert_rows(const PlannedTensor& planned, Range rows) {
  const int64_t row_bytes = format_of(planned.to).bytes_of(planned.tensor.n_columns());
  const auto n_bytes = static_cast<size_t>((rows.end - rows.begin) * row_bytes);
  if (out_.has(n_bytes)) return out_.skip(n_bytes);
  encoded_.resize(n_bytes);
  bad_row_ = -1;
  workers_.run([&](int thread) {
    const Range part = part_of(rows.end - rows.begin, thread, workers_.n_threads());
    float* numbers = rows_[static_cast<size_t>(thread)].data();
    for (int64_t i = part.begin; i < part.end; ++i) {
      convert_row(planned, rows.begin + i, numbers, encoded_.data() + i * row_bytes);
    }
  });
  if (bad_row_ >= 0) return misfit(planned, bad_row_);
  return out_.write(encoded_);
}

void TensorConversion::convert_row(const PlannedTensor& planned, int64_t row, float* numbers,
                                   std::byte* bytes) {
  const ExportTensor& tensor = planned.tensor;
  if (planned.from == planned.to) {
    const Bytes stored = stored_row(tensor, row);
    if (!stored.empty()) {
      std::copy(stored.begin(), stored.end(), bytes);
      return;
    }
  }
  read_row(tensor, row, numbers);
  if (first_misfit(numbers, tensor.n_columns(), greatest_in(planned.to)) >= 0) {
    bad_row_ = row;
    return;
  }
  format_of(planned.to).encode(numbers, nullptr, bytes, tensor.n_columns());
}

// Reads the row again to say what is wrong with it.
Status TensorConversion::misfit(const PlannedTensor& planned, int64_t row) const {
  const ExportTensor& tensor = planned.tensor;
  std::vector<float> numbers(static_cast<size_t>(tensor.n_columns()));
  read_row(tensor, row, numbers.data());
  const int64_t at = first_misfit(numbers.data(), tensor.n_columns(), greatest_in(planned.to));
  const float number = numbers[static_cast<size_t>(at)];
  if (!std::isfinite(number)) {
    return fail(Code::corrupt, "{}: tensor '{}', row {}, column {}: {} is not a number a model has",
                in_.path(), quoted_name(tensor.name), row, at, number);
  }
  return fail(Code::invalid,
              "{}: tensor '{}', row {}, column {}: {} is above the {} that {} can hold; use type "
              "bf16 or f32",
              in_.path(), quoted_name(tensor.name), row, at, number, kGreatestF16,
              format_of(planned.to).name);
}

// The input's metadata, the file type, and the tensors.
Status write_header(const ModelFile& in, const QuantType& type,
                    const std::vector<PlannedTensor>& plan, GgufWriter& out) {
  TRY(export_metadata(in, out));
  out.add_u32("general.file_type", type.file_type);
  out.add_u32("general.quantization_version", kQuantizationVersion);
  KeyText contents;
  add_contents(contents, in);
  out.add_text(kSourceKey, fmt::format("{:016x}{:016x}", contents.hash(1), contents.hash(2)));
  for (const PlannedTensor& planned : plan) {
    out.declare_tensor(planned.tensor.name, planned.to, planned.tensor.shape);
  }
  return out.begin_tensors();
}

// All that is read of the model: its parts, and in a folder whatever describes them. GGUF files
// beside those of a folder are other models.
std::vector<FileId> files_of(const ModelFile& in) {
  std::vector<FileId> ids;
  for (const MappedFile& file : in.files()) ids.push_back(file.id());
  if (!is_directory(in.path())) return ids;
  for (const FolderEntry& entry : files_in(in.path())) {
    if (entry.path.ends_with(".gguf")) continue;
    if (const Result<FileId> id = id_of(entry.path)) ids.push_back(*id);
  }
  return ids;
}

QuantizeStep step_of(const PlannedTensor& planned) {
  const ExportTensor& tensor = planned.tensor;
  QuantizeStep step{.tensor = tensor.name, .from = planned.from, .to = planned.to};
  for (const TensorInfo* part : tensor.parts) step.bytes_in += part->bytes.size();
  step.bytes_out =
      static_cast<uint64_t>(format_of(planned.to).bytes_of(tensor.n_columns()) * tensor.n_rows());
  return step;
}

// What will be written, where the whole file can be.
Result<std::vector<PlannedTensor>> checked_plan(const ModelFile& in, std::string_view type_name,
                                                bool requantize) {
  const QuantType* type = find_quant_type(type_name);
  if (type == nullptr) {
    return fail(Code::invalid, "quantisation type '{}' is unknown; there are:{}",
                quoted_name(type_name), known_types());
  }
  if (in.family() != nullptr && in.family()->is_draft_head) {
    return fail(Code::unsupported, "{}: drafting heads are not written to GGUF files", in.path());
  }
  // The copy would lack them.
  if (!in.unread().empty()) return tl::unexpected(in.unread().begin()->second);
  return plan_tensors(in, *type, requantize);
}

// Pages of the model that were read are given back after each tensor.
Status write_tensors(const ModelFile& in, const std::vector<PlannedTensor>& plan, GgufWriter& out,
                     const std::string& out_path, const QuantizeOptions& options) {
  TensorConversion conversion(in, out, options.n_threads);
  for (size_t i = 0; i < plan.size(); ++i) {
    QuantizeStep step = step_of(plan[i]);
    step.index = static_cast<int64_t>(i);
    step.n_tensors = static_cast<int64_t>(plan.size());
    if (options.on_tensor && !options.on_tensor(step)) {
      return fail(Code::cancelled, "{}: stopped before tensor '{}'", out_path,
                  quoted_name(step.tensor));
    }
    TRY(conversion.convert(plan[i]));
    in.drop_pages();
  }
  return {};
}

}  // namespace

Result<QuantizeSizes> quantized_sizes(const ModelFile& in, std::string_view type_name,
                                      bool requantize) {
  QuantizeSizes sizes;
  for (const PlannedTensor& planned : TRY(checked_plan(in, type_name, requantize))) {
    const QuantizeStep step = step_of(planned);
    sizes.n_tensors += 1;
    sizes.bytes_in += step.bytes_in;
    sizes.bytes_out += step.bytes_out;
  }
  return sizes;
}

Status quantize_model(const ModelFile& in, std::string_view type_name, const std::string& out_path,
                      const QuantizeOptions& options) {
  if (options.n_threads < 0) {
    return fail(Code::invalid, "n_threads is {}; give 0 for one per core", options.n_threads);
  }
  const std::vector<PlannedTensor> plan = TRY(checked_plan(in, type_name, options.requantize));
  GgufWriter out = TRY(GgufWriter::create(
      out_path,
      {.replace = options.replace, .never = files_of(in), .resumable = options.resumable}));
  TRY(write_header(in, *find_quant_type(type_name), plan, out));
  Status status = write_tensors(in, plan, out, out_path, options);
  if (status.ok()) return out.commit();
  if (status.code() != Code::cancelled) out.discard();
  return status;
}

}  // namespace ruv
