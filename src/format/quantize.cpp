// Streaming quantisation: plan all tensors (quant_plan.h, quant_budget.h), write the header, then
// for each tensor repeat "read some rows, check them, encode them, write them".
#include "format/quantize.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/folder.h"
#include "base/worker_pool.h"
#include "format/file_contents.h"
#include "format/gguf_writer.h"
#include "format/quant_budget.h"
#include "format/quant_mix.h"
#include "format/quant_plan.h"
#include "format/quantizable.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

// Numbers converted between two writes; large enough for all threads, 16 MB as float32.
constexpr int64_t kChunkNumbers = int64_t{1} << 22;
constexpr uint32_t kQuantizationVersion = 2;
// A hash of the source: of what add_contents() takes of it, and of the importance of columns.
constexpr std::string_view kSourceKey = "quantize.source_hash";
// What an earlier call left is continued where its header is this call's: the same source, and
// encoders of the same version.
constexpr std::string_view kEncodersKey = "quantize.encoder_version";

// Squares of a row, and of what it lost; the second of each weighed by importance.
struct RowLoss {
  double numbers = 0, errors = 0;
  double weighted_numbers = 0, weighted_errors = 0;
  void add(const RowLoss& row) {
    numbers += row.numbers;
    errors += row.errors;
    weighted_numbers += row.weighted_numbers;
    weighted_errors += row.weighted_errors;
  }
};

double ratio_of(double errors, double numbers) {
  return numbers > 0 ? std::sqrt(errors / numbers) : 0.0;
}

// Buffers for one slice of rows, reused for all tensors.
class TensorConversion {
 public:
  TensorConversion(const ModelFile& in, GgufWriter& out, WorkerPool& workers)
      : in_(in), out_(out), workers_(workers) {}

  // The next convert() also measures what is lost.
  void measure(bool measures) { measures_ = measures; }
  Status convert(const PlannedTensor& planned);
  // Whether all rows of the last tensor were; not those that an earlier run had written.
  bool measured() const { return measures_; }
  // What the last tensor lost. Requires: measured().
  QuantizeLoss loss_of(const PlannedTensor& planned) const {
    return {planned.tensor.name, planned.to, ratio_of(loss_.errors, loss_.numbers),
            ratio_of(loss_.weighted_errors, loss_.weighted_numbers)};
  }

 private:
  RowLoss row_loss(const PlannedTensor& planned, const float* numbers, const float* importance,
                   const std::byte* bytes, float* decoded) const;
  Status convert_rows(const PlannedTensor& planned, Range rows);
  struct RowBuffers {
    float* numbers;
    float* decoded;
    std::byte* bytes;
    RowLoss* loss;  // null: it is not measured
  };
  void convert_row(const PlannedTensor& planned, int64_t row, const RowBuffers& to);
  Status misfit(const PlannedTensor& planned, int64_t row) const;

  const ModelFile& in_;
  GgufWriter& out_;
  WorkerPool& workers_;
  std::vector<std::byte> encoded_;
  std::vector<std::vector<float>> rows_;     // one buffer per thread
  std::vector<std::vector<float>> decoded_;  // the same
  std::optional<ColumnImportance> importance_;
  std::vector<RowLoss> row_losses_;  // of a slice: they are added in the order of rows
  RowLoss loss_;
  bool measures_ = false;
  std::atomic<int64_t> bad_row_{-1};
};

Status TensorConversion::convert(const PlannedTensor& planned) {
  const ExportTensor& tensor = planned.tensor;
  const int64_t n_columns = std::max<int64_t>(tensor.n_columns(), 1);
  const int64_t chunk = std::max<int64_t>(kChunkNumbers / n_columns, 1);
  importance_.emplace(planned);
  loss_ = {};
  for (std::vector<std::vector<float>>* const buffers : {&rows_, &decoded_}) {
    buffers->resize(static_cast<size_t>(workers_.n_threads()));
    for (auto& row : *buffers) row.resize(static_cast<size_t>(n_columns));
  }
  for (int64_t row = 0; row < tensor.n_rows(); row += chunk) {
    TRY(convert_rows(planned, {row, std::min(row + chunk, tensor.n_rows())}));
  }
  return {};
}

Status TensorConversion::convert_rows(const PlannedTensor& planned, Range rows) {
  const int64_t row_bytes = format_of(planned.to).bytes_of(planned.tensor.n_columns());
  const auto n_bytes = static_cast<size_t>((rows.end - rows.begin) * row_bytes);
  if (out_.has(n_bytes)) {
    measures_ = false;  // what the rows lost is not known any more
    return out_.skip(n_bytes);
  }
  encoded_.resize(n_bytes);
  bad_row_ = -1;
  row_losses_.assign(measures_ ? static_cast<size_t>(rows.end - rows.begin) : 0, {});
  workers_.run([&](int thread) {
    const Range part = part_of(rows.end - rows.begin, thread, workers_.n_threads());
    RowBuffers to{rows_[static_cast<size_t>(thread)].data(),
                  decoded_[static_cast<size_t>(thread)].data(), nullptr, nullptr};
    for (int64_t i = part.begin; i < part.end; ++i) {
      to.bytes = encoded_.data() + i * row_bytes;
      if (measures_) to.loss = &row_losses_[static_cast<size_t>(i)];
      convert_row(planned, rows.begin + i, to);
    }
  });
  if (bad_row_ >= 0) return misfit(planned, bad_row_);
  for (const RowLoss& row : row_losses_) loss_.add(row);
  return out_.write(encoded_);
}

void TensorConversion::convert_row(const PlannedTensor& planned, int64_t row,
                                   const RowBuffers& to) {
  const ExportTensor& tensor = planned.tensor;
  if (planned.from == planned.to) {
    const Bytes stored = stored_row(tensor, row);
    if (!stored.empty()) {
      std::copy(stored.begin(), stored.end(), to.bytes);
      return;
    }
  }
  read_row(tensor, row, to.numbers);
  const auto n_columns = static_cast<size_t>(tensor.n_columns());
  if (first_misfit({to.numbers, n_columns}, planned.to) >= 0) {
    bad_row_ = row;
    return;
  }
  const float* const importance = importance_->of_row(row);
  format_of(planned.to).encode(to.numbers, importance, to.bytes, tensor.n_columns());
  if (to.loss == nullptr) return;
  *to.loss = row_loss(planned, to.numbers, importance, to.bytes, to.decoded);
}

RowLoss TensorConversion::row_loss(const PlannedTensor& planned, const float* numbers,
                                   const float* importance, const std::byte* bytes,
                                   float* decoded) const {
  const int64_t n = planned.tensor.n_columns();
  format_of(planned.to).decode(bytes, decoded, n);
  RowLoss loss;
  for (int64_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(numbers[i]);
    const double off = x - static_cast<double>(decoded[i]);
    const double weight = importance == nullptr ? 1.0 : static_cast<double>(importance[i]);
    loss.add({x * x, off * off, weight * x * x, weight * off * off});
  }
  return loss;
}

// Reads the row again to say what is wrong with it.
Status TensorConversion::misfit(const PlannedTensor& planned, int64_t row) const {
  const ExportTensor& tensor = planned.tensor;
  std::vector<float> numbers(static_cast<size_t>(tensor.n_columns()));
  read_row(tensor, row, numbers.data());
  const int64_t at = first_misfit(numbers, planned.to);
  return ruv::misfit(in_.path(), tensor.name, row, at, numbers[static_cast<size_t>(at)],
                     planned.to);
}

void add_importance(KeyText& key, const Importance& importance) {
  for (const auto& [name, entry] : importance.entries) {
    key.text(name);
    key.number(hash_bytes(std::as_bytes(std::span(entry.sums))));
    key.number(hash_bytes(std::as_bytes(std::span(entry.counts))));
  }
}

// Under the keys that llama.cpp writes.
void add_importance_keys(const QuantizeOptions& options, GgufWriter& out) {
  if (options.importance == nullptr) return;
  const Importance& importance = *options.importance;
  out.add_text("quantize.imatrix.file", options.importance_path);
  if (!importance.datasets.empty()) {
    out.add_text("quantize.imatrix.dataset", importance.datasets.front());
  }
  out.add_u32("quantize.imatrix.entries_count", static_cast<uint32_t>(importance.entries.size()));
  if (importance.n_chunks > 0) {
    out.add_u32("quantize.imatrix.chunks_count", static_cast<uint32_t>(importance.n_chunks));
  }
}

// The input's metadata, the file type, and the tensors.
Status write_header(const ModelFile& in, const QuantType& type,
                    const std::vector<PlannedTensor>& plan, const QuantizeOptions& options,
                    GgufWriter& out) {
  TRY(export_metadata(in, out));
  out.add_u32("general.file_type", type.file_type);
  out.add_u32("general.quantization_version", kQuantizationVersion);
  add_importance_keys(options, out);
  KeyText contents;
  add_contents(contents, in);
  if (options.importance != nullptr) add_importance(contents, *options.importance);
  out.add_text(kSourceKey, fmt::format("{:016x}{:016x}", contents.hash(1), contents.hash(2)));
  out.add_u32(kEncodersKey, options.encoder_version);
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
  QuantizeStep step{.tensor = planned.tensor.name, .from = planned.from, .to = planned.to};
  for (const TensorInfo* part : planned.tensor.parts) step.bytes_in += part->bytes.size();
  step.bytes_out = planned.bytes_out();
  return step;
}

// What will be written, where the whole file can be.
Result<std::vector<PlannedTensor>> checked_plan(const ModelFile& in, std::string_view type_name,
                                                const QuantizeOptions& options,
                                                WorkerPool& workers) {
  const QuantType* const type = TRY(known_quant_type(type_name));
  if (in.family() != nullptr && in.family()->is_draft_head) {
    return fail(Code::unsupported, "{}: drafting heads are not written to GGUF files", in.path());
  }
  // The copy would lack them.
  if (!in.unread().empty()) return tl::unexpected(in.unread().begin()->second);
  std::vector<PlannedTensor> plan =
      TRY(plan_tensors(in, *type, {options.importance, options.rules, options.on_missing}));
  if (options.tensor_bytes > 0) TRY(choose_formats(plan, options.tensor_bytes, workers));
  TRY(check_plan(in, plan, *type, options.requantize));
  return plan;
}

struct WriteCall {
  const std::string& out_path;
  const QuantizeOptions& options;
  WorkerPool& workers;
};

// Pages of the model that were read are given back after each tensor.
Status write_tensors(const ModelFile& in, const std::vector<PlannedTensor>& plan, GgufWriter& out,
                     const WriteCall& call) {
  const QuantizeOptions& options = call.options;
  TensorConversion conversion(in, out, call.workers);
  for (size_t i = 0; i < plan.size(); ++i) {
    QuantizeStep step = step_of(plan[i]);
    step.index = static_cast<int64_t>(i);
    step.n_tensors = static_cast<int64_t>(plan.size());
    if (options.on_tensor && !options.on_tensor(step)) {
      return fail(Code::cancelled, "{}: stopped before tensor '{}'", call.out_path,
                  quoted_name(step.tensor));
    }
    conversion.measure(options.on_loss && format_of(plan[i].to).block_size > 1);
    TRY(conversion.convert(plan[i]));
    if (conversion.measured()) options.on_loss(conversion.loss_of(plan[i]));
    in.drop_pages();
  }
  return {};
}

Status check_threads(const QuantizeOptions& options) {
  if (options.n_threads >= 0) return {};
  return fail(Code::invalid, "n_threads is {}; give 0 for one per core", options.n_threads);
}

}  // namespace

Result<QuantizeSizes> quantized_sizes(const ModelFile& in, std::string_view type_name,
                                      const QuantizeOptions& options) {
  TRY(check_threads(options));
  WorkerPool workers(options.n_threads);
  QuantizeSizes sizes;
  for (const PlannedTensor& planned : TRY(checked_plan(in, type_name, options, workers))) {
    const QuantizeStep step = step_of(planned);
    sizes.n_tensors += 1;
    sizes.bytes_in += step.bytes_in;
    sizes.bytes_out += step.bytes_out;
    sizes.n_weights += planned.n_numbers();
  }
  return sizes;
}

Status quantize_model(const ModelFile& in, std::string_view type_name, const std::string& out_path,
                      const QuantizeOptions& options) {
  TRY(check_threads(options));
  WorkerPool workers(options.n_threads);
  const std::vector<PlannedTensor> plan = TRY(checked_plan(in, type_name, options, workers));
  GgufWriter out = TRY(GgufWriter::create(
      out_path,
      {.replace = options.replace, .never = files_of(in), .resumable = options.resumable}));
  const bool was_begun = out.has(1);
  TRY(write_header(in, *find_quant_type(type_name), plan, options, out));
  // has(0): all that was written so far is what was there.
  if (was_begun && !out.has(0) && options.on_begun_anew) options.on_begun_anew();
  Status status = write_tensors(in, plan, out, {out_path, options, workers});
  if (status.ok()) return out.commit();
  if (status.code() != Code::cancelled) out.discard();
  return status;
}

}  // namespace ruv
