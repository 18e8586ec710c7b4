// Places are addresses in the mapped files of the folder.
#include "convert/row_sources.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "format/gguf_export.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

// Collects the sources of all rows, by the addresses that rows of the GGUF file are read from.
class RowFinder {
 public:
  RowFinder(const ModelFile& source, std::span<const SafetensorsTensor> stored) : source_(source) {
    for (const SafetensorsTensor& tensor : stored) {
      by_address_.emplace(tensor.bytes.data(), out_.size());
      out_.push_back({.to = &tensor});
    }
  }

  Status add(const ExportTensor& made);
  // Requires: all tensors were added.
  Status check_complete() const;
  std::vector<StoredRows> take() { return std::move(out_); }

 private:
  Status check_made(const ExportTensor& made, const TensorInfo& from) const;
  Status add_transposed(const ExportTensor& made, const TensorInfo& from);
  Status add_row(const ExportTensor& made, const TensorInfo& from, int64_t row);
  // The tensor of the folder that a place in its files is in; null: none is.
  StoredRows* stored_at(const std::byte* place);
  tl::unexpected<Status> refused(std::string_view name, std::string_view what) const {
    return fail(Code::unsupported, "{}: tensor '{}' {}", source_.path(), quoted_name(name), what);
  }

  const ModelFile& source_;
  std::vector<StoredRows> out_;
  std::map<const std::byte*, size_t> by_address_;
  std::set<std::string, std::less<>> used_;
};

// The last tensor that begins before the place, if it reaches so far.
StoredRows* RowFinder::stored_at(const std::byte* place) {
  auto after = by_address_.upper_bound(place);
  if (after == by_address_.begin()) return nullptr;
  StoredRows& found = out_[std::prev(after)->second];
  return place < found.to->bytes.data() + found.to->bytes.size() ? &found : nullptr;
}

// What a config says in the place of a tensor.
Status RowFinder::check_made(const ExportTensor& made, const TensorInfo& from) const {
  std::vector<float> numbers(static_cast<size_t>(from.n_elements()));
  const bool is_row = from.dtype == DType::f32 && from.shape.size() == 1;
  if (is_row) from.decode_row(0, numbers.data());
  if (is_row && std::ranges::equal(numbers, made.made)) return {};
  return refused(from.name, "differs from the numbers that a config.json gives");
}

// All rows of one tensor of a GGUF file.
Status RowFinder::add(const ExportTensor& made) {
  const TensorInfo* const from = source_.find_tensor(made.name);
  if (from == nullptr) {
    return refused(made.name, "is not in the file, but a folder of this model class has it");
  }
  used_.insert(made.name);
  if (from->shape != made.shape) {
    return refused(made.name, "has another shape than in a folder of this model class");
  }
  if (made.parts.empty()) return check_made(made, *from);
  if (made.minus_exp || made.factor != 1 || !made.row_factors.empty() ||
      !made.column_order.empty()) {
    return refused(made.name, "is computed from those of a folder, and not the other way round");
  }
  if (!made.parts.front()->has_whole_rows()) return add_transposed(made, *from);
  for (int64_t row = 0; row < made.n_rows(); ++row) TRY(add_row(made, *from, row));
  return {};
}

// Such a matrix is moved as a whole.
Status RowFinder::add_transposed(const ExportTensor& made, const TensorInfo& from) {
  const TensorInfo& part = *made.parts.front();
  StoredRows* const to = stored_at(part.bytes.data());
  const bool is_whole = made.parts.size() == 1 && made.row_order.empty() &&
                        made.rotary_group == 0 && !made.plus_one && to != nullptr &&
                        to->to->shape.size() == 2 && part.shape.size() == 2 &&
                        to->to->shape[0] == part.shape[1] && to->to->shape[1] == part.shape[0] &&
                        part.bytes.data() == to->to->bytes.data() && to->rows.empty();
  if (!is_whole) return refused(made.name, "moves in a way that has no inverse here");
  const int64_t number = format_of(part.dtype).block_bytes;
  if (part.steps != std::vector<int64_t>{number, number * part.shape[0]}) {
    return refused(made.name, "moves in a way that has no inverse here");
  }
  to->transposed = true;
  to->unit = part.shape[1];
  to->rows.push_back({&from, 0});
  return {};
}

// The first row that goes to a tensor of the folder decides how that one is cut into rows.
Status RowFinder::add_row(const ExportTensor& made, const TensorInfo& from, int64_t row) {
  const auto [part, at] = place_of_row(made, row);
  const int64_t unit = made.n_columns();
  const int64_t row_bytes = format_of(part->dtype).bytes_of(unit);
  const int64_t offset = part->steps.empty() ? at * row_bytes : part->row_offset(at);
  const std::byte* const place = part->bytes.data() + offset;
  StoredRows* const to = stored_at(place);
  if (to == nullptr) return refused(made.name, "lies in no tensor of the folder");
  const auto n_bytes = static_cast<int64_t>(to->to->bytes.size());
  const int64_t begin = place - to->to->bytes.data();
  if (to->rows.empty()) {
    to->unit = unit;
    to->minus_one = made.plus_one;
    if (n_bytes % row_bytes != 0) return refused(made.name, "has rows of another length");
    to->rows.resize(static_cast<size_t>(n_bytes / row_bytes));
  }
  const bool fits = to->unit == unit && to->minus_one == made.plus_one && !to->transposed &&
                    begin % row_bytes == 0 && begin + row_bytes <= n_bytes;
  if (!fits) return refused(made.name, "has rows of another length than the tensor beside it");
  RowSource& slot = to->rows[static_cast<size_t>(begin / row_bytes)];
  if (slot.tensor != nullptr) return refused(made.name, "has rows that are another tensor's");
  slot = {&from, row};
  return {};
}

// Nothing of either side may be left over.
Status RowFinder::check_complete() const {
  for (const TensorInfo& tensor : source_.tensors()) {
    if (!used_.contains(tensor.name)) {
      return refused(tensor.name, "is not in a folder of this model class");
    }
  }
  for (const StoredRows& stored : out_) {
    const bool is_whole = std::ranges::all_of(
        stored.rows, [](const RowSource& row) { return row.tensor != nullptr; });
    if (is_whole && !stored.rows.empty()) continue;
    return fail(Code::unsupported, "{}: nothing in the file gives tensor '{}' of a folder",
                source_.path(), quoted_name(stored.to->name));
  }
  return {};
}

}  // namespace

Result<std::vector<StoredRows>> row_sources(const ModelFile& source, const ModelFile& folder,
                                            std::span<const SafetensorsTensor> stored) {
  RowFinder finder(source, stored);
  for (const ExportTensor& made : TRY(export_tensors(folder))) TRY(finder.add(made));
  TRY(finder.check_complete());
  return finder.take();
}

}  // namespace ruv
