#include "format/importance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "format/gguf.h"
#include "format/gguf_writer.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr std::string_view kSumsEnding = ".in_sum2";
constexpr std::string_view kCountsEnding = ".counts";
constexpr std::string_view kSensitivityEnding = ".sensitivity";

bool is_sum(float x) { return std::isfinite(x) && x >= 0.0F; }
bool is_count(float x) { return x == 0.0F || (std::isfinite(x) && x >= 1.0F); }

// Checks an entry that was read; there may be one of its name already.
Status add_entry(Importance& importance, std::string_view name, ImportanceEntry entry,
                 const std::string& source) {
  const auto n_sums = std::ssize(entry.sums);
  const auto n_counts = std::ssize(entry.counts);
  if (n_counts == 0 || n_sums == 0 || n_sums % n_counts != 0) {
    return fail(Code::corrupt, "{}: '{}' has {} sums and {} counts", source, quoted_name(name),
                n_sums, n_counts);
  }
  if (!std::ranges::all_of(entry.sums, is_sum) || !std::ranges::all_of(entry.counts, is_count)) {
    return fail(Code::corrupt,
                "{}: '{}' has a sum below 0, a count below 1, or one that is not finite", source,
                quoted_name(name));
  }
  if (!importance.entries.emplace(name, std::move(entry)).second) {
    return fail(Code::corrupt, "{}: '{}' is there twice", source, quoted_name(name));
  }
  return {};
}

std::vector<float> floats_of(const TensorInfo& tensor) {
  std::vector<float> numbers(static_cast<size_t>(tensor.n_elements()));
  for (int64_t row = 0; row < tensor.n_rows(); ++row) {
    tensor.decode_row(row, numbers.data() + row * tensor.shape.back());
  }
  return numbers;
}

template <class T>
const T* value_of(const MetaMap& metadata, std::string_view key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : std::get_if<T>(&found->second);
}

// Requires: the entries are there.
Status add_sensitivity(Importance& importance, const TensorInfo& tensor,
                       const std::string& source) {
  const std::string_view name =
      std::string_view(tensor.name).substr(0, tensor.name.size() - kSensitivityEnding.size());
  const auto found = importance.entries.find(name);
  const bool is_number = tensor.dtype == DType::f32 && tensor.n_elements() == 1;
  float number = -1.0F;
  if (is_number) tensor.decode_row(0, &number);
  if (found == importance.entries.end() || !is_sum(number)) {
    return fail(Code::corrupt, "{}: '{}' is not a number of an entry", source,
                quoted_name(tensor.name));
  }
  found->second.sensitivity = number;
  return {};
}

// `n_bytes`: of the file, which bounds what is copied of tensors that lie over each other.
Result<Importance> importance_of(const GgufContents& file, uint64_t n_bytes,
                                 const std::string& source) {
  const std::string* const type = value_of<std::string>(file.metadata, "general.type");
  if (type == nullptr || *type != "imatrix") {
    return fail(Code::unsupported,
                "{}: general.type is not 'imatrix': the file has no importance of columns", source);
  }
  Importance importance;
  const auto* texts = value_of<std::shared_ptr<const MetaArray>>(file.metadata, "imatrix.datasets");
  if (texts != nullptr) importance.datasets = (*texts)->strings;
  const auto number = [&](std::string_view key) {
    const int64_t* const value = value_of<int64_t>(file.metadata, key);
    return value == nullptr ? int64_t{0} : *value;
  };
  importance.n_chunks = number("imatrix.chunk_count");
  importance.chunk_size = number("imatrix.chunk_size");
  std::map<std::string_view, const TensorInfo*> counts;
  for (const TensorInfo& tensor : file.tensors) {
    if (tensor.name.ends_with(kCountsEnding)) counts.emplace(tensor.name, &tensor);
  }
  uint64_t n_copied = 0;
  for (const TensorInfo& tensor : file.tensors) {
    if (!tensor.name.ends_with(kSumsEnding)) continue;
    const std::string_view name =
        std::string_view(tensor.name).substr(0, tensor.name.size() - kSumsEnding.size());
    const auto found = counts.find(std::string(name) + std::string(kCountsEnding));
    if (found == counts.end() || tensor.dtype != DType::f32 || found->second->dtype != DType::f32) {
      return fail(Code::corrupt, "{}: '{}' has no sums and counts in f32", source,
                  quoted_name(name));
    }
    n_copied += tensor.bytes.size() + found->second->bytes.size();
    if (n_copied > n_bytes) {
      return fail(Code::corrupt, "{}: '{}' lies over other tensors", source, quoted_name(name));
    }
    TRY(add_entry(importance, name, {floats_of(tensor), floats_of(*found->second), 0}, source));
  }
  for (const TensorInfo& tensor : file.tensors) {
    if (tensor.name.ends_with(kSensitivityEnding)) TRY(add_sensitivity(importance, tensor, source));
  }
  return importance;
}

// The older form. What comes after the entries may be missing: old files have none.
Result<Importance> parse_dat(Bytes bytes, const std::string& source) {
  ByteReader reader(bytes, source);
  const auto n_entries = TRY(reader.read<int32_t>("n_entries"));
  if (n_entries < 1) return reader.error("n_entries", "is not above 0: not an imatrix file");
  Importance importance;
  const auto text = [&](std::string_view field) -> Result<std::string> {
    const auto n = TRY(reader.read<int32_t>(field));
    if (n < 0) return reader.error(field, "has a length below 0");
    return std::string(as_text(TRY(reader.take(static_cast<uint64_t>(n), field))));
  };
  for (int32_t i = 0; i < n_entries; ++i) {
    const std::string name = TRY(text("name"));
    const auto n_calls = TRY(reader.read<int32_t>("n_calls"));
    const auto n_values = TRY(reader.read<int32_t>("n_values"));
    if (n_calls < 0 || n_values < 1) return reader.error(quoted_name(name), "has no values");
    const Bytes values =
        TRY(reader.take(static_cast<uint64_t>(n_values) * sizeof(float), "values"));
    ImportanceEntry entry;
    entry.sums.resize(static_cast<size_t>(n_values));
    std::memcpy(entry.sums.data(), values.data(), values.size());
    // Files without calls have mean squares.
    entry.counts = {static_cast<float>(std::max(n_calls, 1))};
    TRY(add_entry(importance, name, std::move(entry), source));
  }
  if (reader.remaining() == 0) return importance;
  importance.n_chunks = TRY(reader.read<int32_t>("n_chunks"));
  importance.datasets = {TRY(text("dataset"))};
  if (reader.remaining() != 0) return reader.error("end", "more bytes follow");
  return importance;
}

Status write_gguf(const Importance& importance, const std::string& path, FileTarget target) {
  GgufWriter out = TRY(GgufWriter::create(path, std::move(target)));
  out.add_text("general.type", "imatrix");
  out.add_texts("imatrix.datasets", importance.datasets);
  out.add_u32("imatrix.chunk_count", static_cast<uint32_t>(importance.n_chunks));
  out.add_u32("imatrix.chunk_size", static_cast<uint32_t>(importance.chunk_size));
  const std::vector<int64_t> one{1};
  for (const auto& [name, entry] : importance.entries) {
    const int64_t n = std::ssize(entry.counts);
    const std::vector<int64_t> sums{n, std::ssize(entry.sums) / n};
    const std::vector<int64_t> counts{n, 1};
    out.declare_tensor(name + std::string(kSumsEnding), DType::f32, sums);
    out.declare_tensor(name + std::string(kCountsEnding), DType::f32, counts);
    if (entry.sensitivity == 0.0F) continue;
    out.declare_tensor(name + std::string(kSensitivityEnding), DType::f32, one);
  }
  TRY(out.begin_tensors());
  for (const auto& [name, entry] : importance.entries) {
    TRY(out.write(std::as_bytes(std::span(entry.sums))));
    TRY(out.write(std::as_bytes(std::span(entry.counts))));
    if (entry.sensitivity == 0.0F) continue;
    TRY(out.write(std::as_bytes(std::span(&entry.sensitivity, 1))));
  }
  return out.commit();
}

// A file of the older form, number by number.
class DatWriter {
 public:
  explicit DatWriter(FileWriter file) : file_(std::move(file)) {}

  Status number(int64_t x) {
    if (x < 0 || x > std::numeric_limits<int32_t>::max()) {
      return fail(Code::invalid, "the older form of importance has no room for {}; write .gguf", x);
    }
    const auto stored = static_cast<int32_t>(x);
    return file_.write(std::as_bytes(std::span(&stored, 1)));
  }
  Status text(std::string_view text) {
    TRY(number(std::ssize(text)));
    return file_.write(as_bytes(text));
  }
  Status floats(std::span<const float> numbers) { return file_.write(std::as_bytes(numbers)); }
  Status commit() { return file_.commit(); }

 private:
  FileWriter file_;
};

Status write_dat(const Importance& importance, const std::string& path, FileTarget target) {
  DatWriter out(TRY(FileWriter::create(path, std::move(target))));
  TRY(out.number(std::ssize(importance.entries)));
  for (const auto& [name, entry] : importance.entries) {
    // A call is a chunk that the matrix was in.
    const float most = *std::ranges::max_element(entry.counts);
    const float size = importance.chunk_size > 0 ? static_cast<float>(importance.chunk_size) : 1.0F;
    const auto n_calls = std::max<int64_t>(static_cast<int64_t>(std::ceil(most / size)), 1);
    const int64_t n = std::ssize(entry.counts);
    std::vector<float> means = mean_squares(entry, std::ssize(entry.sums) / n, n);
    for (float& mean : means) mean *= static_cast<float>(n_calls);
    TRY(out.text(name));
    TRY(out.number(n_calls));
    TRY(out.number(std::ssize(means)));
    TRY(out.floats(means));
  }
  TRY(out.number(importance.n_chunks));
  TRY(out.text(importance.datasets.empty() ? "" : importance.datasets.back()));
  return out.commit();
}

}  // namespace

std::vector<float> mean_squares(const ImportanceEntry& entry, int64_t n_columns,
                                int64_t n_matrices) {
  const int64_t n_counts = std::ssize(entry.counts);
  if (std::ssize(entry.sums) != n_columns * n_matrices) return {};
  if (n_counts != n_matrices && n_counts != 1) return {};
  std::vector<float> means(entry.sums.size());
  for (int64_t m = 0; m < n_matrices; ++m) {
    const float count = entry.counts[static_cast<size_t>(n_counts == 1 ? 0 : m)];
    for (int64_t i = m * n_columns; i < (m + 1) * n_columns; ++i) {
      const auto at = static_cast<size_t>(i);
      means[at] = count > 0.0F ? entry.sums[at] / count : 1.0F;
    }
  }
  return means;
}

Result<Importance> parse_importance(Bytes bytes, const std::string& source) {
  if (!as_text(bytes).starts_with("GGUF")) return parse_dat(bytes, source);
  return importance_of(TRY(parse_gguf(bytes, source)), bytes.size(), source);
}

Result<Importance> read_importance(const std::string& path) {
  const MappedFile file = TRY(MappedFile::open(path));
  return parse_importance(file.bytes(), path);
}

Status write_importance(const Importance& importance, const std::string& path, ImportanceForm form,
                        FileTarget target) {
  return form == ImportanceForm::gguf ? write_gguf(importance, path, std::move(target))
                                      : write_dat(importance, path, std::move(target));
}

}  // namespace ruv
