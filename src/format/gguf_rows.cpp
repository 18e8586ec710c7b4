#include "format/gguf_rows.h"

#include <algorithm>
#include <cmath>

#include "format/quant_mix.h"

namespace ruv {
namespace {

constexpr int64_t kRowsAtOnce = 64;
constexpr float kGreatestHalf = 65504.0F;

// The bytes of a row where it stays as it is, else its numbers encoded.
Status append_row(const WrittenTensor& written, int64_t row, const RowChanges* changes,
                  std::vector<std::byte>& to) {
  const ExportTensor& tensor = written.tensor;
  const Bytes stored = stored_row(tensor, row);
  const bool is_changed = changes != nullptr && !stored.empty() && changes->changes(stored.data());
  if (written.from == written.to && !is_changed && !stored.empty()) {
    to.insert(to.end(), stored.begin(), stored.end());
    return {};
  }
  std::vector<float> numbers(static_cast<size_t>(tensor.n_columns()));
  read_row(tensor, row, numbers.data());
  if (is_changed) TRY(changes->apply(stored.data(), numbers));
  const float most = written.to == DType::f16 ? kGreatestHalf : INFINITY;
  if (!std::ranges::all_of(numbers, [&](float x) { return std::fabs(x) <= most; })) {
    return fail(Code::invalid, "has a number that {} cannot hold", format_of(written.to).name);
  }
  const Format& format = format_of(written.to);
  if (format.encode == nullptr) return fail(Code::unsupported, "{} is not written", format.name);
  const size_t at = to.size();
  to.resize(at + static_cast<size_t>(format.bytes_of(tensor.n_columns())));
  format.encode(numbers.data(), nullptr, to.data() + at, tensor.n_columns());
  return {};
}

Status write_rows_of(const WrittenTensor& written, const RowChanges* changes, GgufWriter& out) {
  std::vector<std::byte> bytes;
  const int64_t n_rows = written.tensor.n_rows();
  for (int64_t row = 0; row < n_rows; ++row) {
    const Status appended = append_row(written, row, changes, bytes);
    if (!appended.ok()) {
      return with_context(fmt::format("tensor '{}', row {}", written.tensor.name, row), appended);
    }
    if ((row + 1) % kRowsAtOnce != 0 && row + 1 < n_rows) continue;
    TRY(out.write(bytes));
    bytes.clear();
  }
  return {};
}

}  // namespace

WrittenTensor written_tensor(ExportTensor tensor, bool changes, DType dtype) {
  const DType from = tensor.parts.empty() ? DType::f32 : tensor.parts.front()->dtype;
  const bool is_matrix = is_quantizable(tensor.name, tensor.shape.size());
  const bool is_integer = from >= DType::i8 && from <= DType::i64;
  const DType kept = is_matrix || is_integer ? from : DType::f32;
  return {std::move(tensor), from, is_matrix && changes ? dtype : kept};
}

Status rewrite_model(const ModelFile& file, std::span<const WrittenTensor> plan,
                     const std::string& path, RewriteOptions options) {
  for (const MappedFile& part : file.files()) options.target.never.push_back(part.id());
  GgufWriter out = TRY(GgufWriter::create(path, std::move(options.target)));
  TRY(export_metadata(file, out));
  for (const WrittenTensor& written : plan) {
    out.declare_tensor(written.tensor.name, written.to, written.tensor.shape);
  }
  const int64_t last_shape[] = {1, std::ssize(options.last)};
  if (!options.last.empty()) out.declare_tensor(options.last_name, DType::f32, last_shape);
  TRY(out.begin_tensors());
  for (size_t i = 0; i < plan.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(plan.size());
    if (options.go_on && !options.go_on(share)) {
      return fail(Code::cancelled, "{}: stopped before tensor '{}'", path, plan[i].tensor.name);
    }
    TRY(write_rows_of(plan[i], options.rows, out));
  }
  if (!options.last.empty()) TRY(out.write(std::as_bytes(options.last)));
  return out.commit();
}

}  // namespace ruv
