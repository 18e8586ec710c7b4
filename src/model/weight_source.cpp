#include "model/weight_source.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "format/tensor_names.h"
#include "model/packed_key.h"

namespace ruv {
namespace {

// Long enough that a turn of all threads costs nothing, short enough to stay in the last cache on
// the way to the packed file.
constexpr int64_t kSliceBytes = int64_t{8} << 20;
// The most of the model's file that is in memory besides what was packed from it.
constexpr int64_t kReturnBytes = int64_t{32} << 20;

// How far ahead of packing the file is read: what a disk that serves many requests at once takes to
// be busy, and little beside a model. Half of it is left when more is asked for.
constexpr int64_t kAskedBytes = int64_t{64} << 20;

// As hash_of_places, of rows that are made.
std::optional<uint64_t> hash_of_made(const MatrixRows& matrix) {
  KeyText key;
  for (const auto& made : matrix.made) made->add_tensor(key);
  for (const std::byte* const row : matrix.rows) {
    const auto owner =
        std::ranges::find_if(matrix.made, [&](const auto& m) { return m->has(row); });
    if (owner == matrix.made.end()) return std::nullopt;
    key.number(static_cast<uint64_t>(owner - matrix.made.begin()));
    key.number(static_cast<uint64_t>((*owner)->index_of(row)));
  }
  return key.hash(1);
}

// What a packed file says of a matrix; nothing for rows that do not come from the model's files.
std::optional<PackedMatrix> entry_of(const ModelFile& file, const Weight& weight,
                                     const MatrixRows& matrix) {
  const std::optional<uint64_t> places =
      matrix.made.empty() ? hash_of_places(file, matrix.rows) : hash_of_made(matrix);
  if (!places || matrix.name.size() > UINT16_MAX) return std::nullopt;
  return PackedMatrix{.name = matrix.name,
                      .dtype = static_cast<uint8_t>(weight.dtype),
                      .mr = static_cast<uint8_t>(weight.group_rows),
                      .n_out = static_cast<uint64_t>(weight.n_out),
                      .n_in = static_cast<uint64_t>(weight.n_in),
                      .rows_hash = *places,
                      .n_bytes = static_cast<uint64_t>(weight.packed_bytes())};
}

}  // namespace

MatrixRows MatrixRows::part(int64_t first, int64_t n) const {
  MatrixRows result{fmt::format("{}[{}+{}]", name, first, n), dtype, n_in, {}, owned, made};
  result.rows.assign(rows.begin() + first, rows.begin() + first + n);
  return result;
}

MatrixRows MatrixRows::pick(std::span<const int64_t> chosen) const {
  const int64_t first = chosen.empty() ? 0 : chosen.front();
  MatrixRows result{
      fmt::format("{}[{}:{}]", name, first, chosen.size()), dtype, n_in, {}, owned, made};
  for (const int64_t row : chosen) result.rows.push_back(rows[static_cast<size_t>(row)]);
  return result;
}

Result<MatrixRows> WeightSource::as_f32(MatrixRows matrix) const {
  if (plan_.shapes_only) {
    matrix.dtype = DType::f32;
    return matrix;
  }
  TRY(make(matrix));
  MatrixRows result{matrix.name, DType::f32, matrix.n_in, {}, nullptr};
  const int64_t n = std::ssize(matrix.rows) * matrix.n_in;
  result.owned = std::make_shared<Buffer>(TRY(Buffer::allocate(n * int64_t{sizeof(float)})));
  float* to = result.owned->as<float>();
  for (const std::byte* const row : matrix.rows) {
    format_of(matrix.dtype).decode(row, to, matrix.n_in);
    result.rows.push_back(reinterpret_cast<const std::byte*>(to));
    to += matrix.n_in;
  }
  return result;
}

Status WeightSource::make(const MatrixRows& matrix) const {
  return make(matrix, {0, std::ssize(matrix.rows)});
}

Status WeightSource::make(const MatrixRows& matrix, Range rows) const {
  if (plan_.shapes_only) return {};
  const auto some =
      std::span(matrix.rows)
          .subspan(static_cast<size_t>(rows.begin), static_cast<size_t>(rows.end - rows.begin));
  for (const auto& made : matrix.made) TRY(made->make(some, *pool_));
  return {};
}

Status WeightSource::noted(const std::string& prefix, Status status) {
  if (status.ok()) return status;
  if (plan_.faults == nullptr || plan_.faults->is_full()) return status;
  plan_.faults->add(status);
  faulty_.push_back(prefix);
  return {};
}

bool WeightSource::was_used(const std::string& name) const {
  const auto begins = [&](const std::string& prefix) { return name.starts_with(prefix); };
  return used_.contains(name) || std::ranges::any_of(faulty_, begins);
}

Result<const TensorInfo*> WeightSource::find(const std::string& name) const {
  const TensorInfo* const tensor = file_->find_tensor(name);
  if (const auto unread = file_->unread().find(name); unread != file_->unread().end()) {
    return tl::unexpected(unread->second);
  }
  if (tensor == nullptr) {
    return fail(Code::not_found, "{}: tensor '{}' is missing", file_->path(),
                quoted_name(file_->shown_tensor(name)));
  }
  used_.insert(name);
  return tensor;
}

// One that was read before the matrix has a meaning of its own.
Status WeightSource::refuse_scale(const std::string& name) const {
  const std::string scale = name.substr(0, name.rfind('.')) + ".scale";
  if (!has(scale) || was_used(scale)) return {};
  return fail(Code::unsupported, "{}: tensor '{}' is scaled by a tensor of its own, '{}'",
              file_->path(), name, scale);
}

Result<MatrixRows> WeightSource::matrix(const std::string& name, int64_t n_out,
                                        int64_t n_in) const {
  return matrix_of(*TRY(find(name)), n_out, n_in);
}

Result<MatrixRows> WeightSource::table(const std::string& name, int64_t n_out, int64_t n_in) const {
  TRY(find(name));
  return matrix_of(*file_->find_stored(name), n_out, n_in);
}

Result<MatrixRows> WeightSource::matrix_of(const TensorInfo& tensor, int64_t n_out,
                                           int64_t n_in) const {
  const std::string& name = tensor.name;
  const bool is_row = n_out == 1 && tensor.shape == std::vector{n_in};
  const bool fits = is_row || (tensor.shape.size() == 2 && tensor.shape[1] == n_in &&
                               (n_out < 0 || tensor.shape[0] == n_out));
  if (!fits) {
    return fail(Code::corrupt, "{}: tensor '{}' has shape ({}), expected ({}, {})", file_->path(),
                quoted_name(file_->shown_tensor(name)), fmt::join(tensor.shape, ", "),
                n_out < 0 ? "any" : std::to_string(n_out), n_in);
  }
  TRY(refuse_scale(name));
  return rows_of(tensor, tensor.name, {0, tensor.n_rows()});
}

Result<MatrixRows> WeightSource::of_stack(const std::string& name, int64_t i, int64_t n,
                                          int64_t n_out, int64_t n_in) const {
  const TensorInfo& tensor = *TRY(find(name));
  if (tensor.shape != std::vector{n, n_out, n_in}) {
    return fail(Code::corrupt, "{}: tensor '{}' has shape ({}), expected ({}, {}, {})",
                file_->path(), quoted_name(file_->shown_tensor(name)),
                fmt::join(tensor.shape, ", "), n, n_out, n_in);
  }
  TRY(refuse_scale(name));
  return rows_of(tensor, fmt::format("{}[{}]", tensor.name, i), {i * n_out, (i + 1) * n_out});
}

// Rows whose numbers do not follow each other are made.
Result<MatrixRows> WeightSource::rows_of(const TensorInfo& tensor, std::string name,
                                         Range rows) const {
  const int64_t n_in = tensor.shape.back();
  MatrixRows result{std::move(name), tensor.dtype, n_in, {}, nullptr};
  if (plan_.shapes_only) {
    result.rows.resize(static_cast<size_t>(rows.end - rows.begin));
    return result;
  }
  result.rows.reserve(static_cast<size_t>(rows.end - rows.begin));
  if (tensor.has_whole_rows()) {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      result.rows.push_back(tensor.bytes.data() + tensor.row_offset(row));
    }
    return result;
  }
  result.made.push_back(TRY(MadeRows::create(tensor, rows)));
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    result.rows.push_back(result.made.front()->at(row));
  }
  return result;
}

Result<MatrixRows> WeightSource::transpose_of(const MatrixRows& matrix) const {
  const bool has_blocks = format_of(matrix.dtype).block_size != 1;
  const auto n_in = std::ssize(matrix.rows);
  const int64_t n_out = matrix.n_in;
  const DType dtype = has_blocks ? DType::f32 : matrix.dtype;
  MatrixRows result{fmt::format("{}^T", matrix.name), dtype, n_in, {}, nullptr};
  result.rows.resize(static_cast<size_t>(n_out));
  if (plan_.shapes_only) return result;
  TRY(make(matrix));
  const MatrixRows plain = has_blocks ? TRY(as_f32(matrix)) : matrix;
  const auto size = static_cast<size_t>(format_of(dtype).block_bytes);
  result.owned =
      std::make_shared<Buffer>(TRY(Buffer::allocate(n_out * n_in * static_cast<int64_t>(size))));
  std::byte* to = result.owned->get();
  for (size_t row = 0; row < result.rows.size(); ++row) {
    result.rows[row] = to;
    for (const std::byte* const from : plain.rows) {
      std::memcpy(to, from + row * size, size);
      to += size;
    }
  }
  return result;
}

Result<std::vector<float>> WeightSource::vector(const std::string& name, int64_t n) const {
  const TensorInfo& tensor = *TRY(find(name));
  if (tensor.n_elements() != n) {
    return fail(Code::corrupt, "{}: tensor '{}' has {} numbers, expected {}", file_->path(),
                quoted_name(file_->shown_tensor(name)), tensor.n_elements(), n);
  }
  const Format& format = format_of(tensor.dtype);
  if (n % format.block_size != 0) {
    return fail(Code::unsupported, "{}: tensor '{}': a vector of {} cannot be {}", file_->path(),
                name, n, format.name);
  }
  std::vector<float> result(static_cast<size_t>(n));
  if (plan_.shapes_only) return result;
  const bool is_one_run =
      tensor.steps.empty() && tensor.maker == nullptr && format.header_bytes == 0;
  const int64_t n_rows = is_one_run ? 1 : tensor.n_rows();
  if (n_rows == 1 && tensor.has_whole_rows()) {
    format.decode(tensor.bytes.data(), result.data(), n);
    return result;
  }
  for (int64_t row = 0; row < n_rows; ++row) {
    tensor.decode_row(row, result.data() + row * tensor.shape.back());
  }
  if (tensor.maker != nullptr) TRY(tensor.maker->status());
  return result;
}

Result<std::vector<float>> WeightSource::filters(const std::string& name, int64_t n,
                                                 int64_t length) const {
  const TensorInfo& tensor = *TRY(find(name));
  // Lengths of 1 beside them, as GGUF files may have, say nothing.
  std::vector<int64_t> shape;
  std::ranges::copy_if(tensor.shape, std::back_inserter(shape), [](int64_t i) { return i != 1; });
  std::vector<int64_t> wanted = {n, length};
  std::erase(wanted, 1);
  if (shape != wanted) {
    return fail(Code::corrupt, "{}: tensor '{}' has shape ({}), expected ({}, {})", file_->path(),
                quoted_name(file_->shown_tensor(name)), fmt::join(tensor.shape, ", "), n, length);
  }
  return vector(name, n * length);
}

Result<std::vector<float>> WeightSource::norm(const std::string& name, int64_t n) const {
  std::vector<float> result = TRY(vector(name, n));
  if (file_->norms_minus_one()) {
    for (float& x : result) x += 1;
  }
  return result;
}

void WeightSource::ready(int64_t n_bytes) {
  n_unreturned_ += n_bytes;
  if (n_unreturned_ >= kReturnBytes) {
    file_->drop_pages();
    n_unreturned_ = 0;
  }
  if (plan_.on_bytes) plan_.on_bytes(n_bytes);
}

// Rows are mostly packed in the order of the file. Where they are not, or the file ends, what was
// asked for is used later, or nothing is asked.
void WeightSource::ask_ahead(const std::byte* row) {
  const auto address = reinterpret_cast<uintptr_t>(row);
  const uintptr_t gone = address - asked_;  // large where the row is before
  const int64_t left = gone < kAskedBytes ? kAskedBytes - static_cast<int64_t>(gone) : 0;
  if (row == nullptr || left > kAskedBytes / 2) return;
  file_->expect_read(row, {left, kAskedBytes});
  asked_ = address;
}

// `to` null: into the packed file.
Status WeightSource::pack_slices(const Weight& weight, const MatrixRows& matrix, std::byte* to) {
  const int64_t group_bytes = weight.group_bytes;
  const int64_t most = std::max<int64_t>(1, kMaxPackedSlice / group_bytes);
  const int64_t n_slice = std::clamp<int64_t>(kSliceBytes / group_bytes,
                                              std::min<int64_t>(pool_->n_threads(), most), most);
  for (int64_t group = 0; group < weight.n_groups(); group += n_slice) {
    const Range groups{group, std::min(group + n_slice, weight.n_groups())};
    const int64_t n_bytes = (groups.end - groups.begin) * group_bytes;
    std::byte* const at = to != nullptr ? to + group * group_bytes : TRY(plan_.to->next(n_bytes));
    const int64_t n_rows = std::ssize(matrix.rows);
    if (matrix.made.empty() && groups.begin * weight.group_rows < n_rows) {
      ask_ahead(matrix.rows[static_cast<size_t>(groups.begin * weight.group_rows)]);
    }
    TRY(make(matrix, {std::min(groups.begin * weight.group_rows, n_rows),
                      std::min(groups.end * weight.group_rows, n_rows)}));
    device_->packing().pack(weight, matrix.rows, groups, at, *pool_);
    ready(n_bytes);
  }
  return {};
}

Status WeightSource::write_copy(const Buffer& packed) {
  for (int64_t at = 0; at < packed.n_bytes();) {
    const int64_t n = std::min(kMaxPackedSlice, packed.n_bytes() - at);
    std::memcpy(TRY(plan_.to->next(n)), packed.get() + at, static_cast<size_t>(n));
    at += n;
  }
  return {};
}

Result<PlainRows> WeightSource::take_rows(const MatrixRows& matrix, int64_t row_bytes) const {
  TRY(make(matrix));
  PlainRows taken = TRY(device_->take_rows(matrix.rows, row_bytes));
  if (taken.memory.owner != nullptr) return taken;
  taken.memory.owner = matrix.owned;
  if (!matrix.made.empty()) {
    taken.memory.owner = std::make_shared<std::vector<std::shared_ptr<MadeRows>>>(matrix.made);
  }
  return taken;
}

Result<Weight> WeightSource::pack(const MatrixRows& matrix) {
  if (plan_.plain) return lookup(matrix);
  const auto n_out = static_cast<int64_t>(matrix.rows.size());
  Weight weight = device_->packing().shape_of(matrix.dtype, matrix.n_in, n_out);
  if (plan_.shapes_only) return weight;
  if (!weight.is_packed()) {
    const int64_t row_bytes = format_of(matrix.dtype).bytes_of(matrix.n_in);
    weight.plain = TRY(take_rows(matrix, row_bytes));
    return weight;
  }
  weight.packed = TRY(packed_memory(weight, matrix));
  packed_.push_back(weight);
  return weight;
}

Result<DeviceMemory> WeightSource::packed_memory(const Weight& weight, const MatrixRows& matrix) {
  std::optional<PackedMatrix> entry;
  if (plan_.from != nullptr || plan_.to != nullptr) entry = entry_of(*file_, weight, matrix);
  if (entry && plan_.from != nullptr) {
    if (const PackedMatrix* const found = plan_.from->find(*entry); found != nullptr) {
      return device_->take(plan_.from->bytes_of(*found));
    }
    ++n_lacking_;
  }
  const bool writes = entry && plan_.to != nullptr;
  if (writes) {
    const SharedBytes bytes = TRY(plan_.to->begin(std::move(*entry)));
    if (device_->shares_memory()) {
      TRY(pack_slices(weight, matrix, nullptr));
      return device_->take(bytes);
    }
  }
  Buffer own = TRY(Buffer::allocate(weight.packed_bytes()));
  TRY(pack_slices(weight, matrix, own.get()));
  // The file can be read only when it is complete.
  if (writes) TRY(write_copy(own));
  return device_->take(SharedBytes(std::move(own)));
}

Result<Weight> WeightSource::lookup(const MatrixRows& matrix) {
  Weight weight;
  weight.n_out = static_cast<int64_t>(matrix.rows.size());
  weight.n_in = matrix.n_in;
  weight.dtype = matrix.dtype;
  if (plan_.shapes_only) return weight;
  weight.plain = TRY(take_rows(matrix, format_of(matrix.dtype).bytes_of(matrix.n_in)));
  return weight;
}

int64_t packed_bytes_of(const ModelFile& file, const Packing& packing) {
  int64_t n_bytes = 0;
  const bool tied = file.find_tensor("output.weight") == nullptr;
  for (const TensorInfo& tensor : file.tensors()) {
    const bool looked_up = tensor.name == "token_embd.weight" && !tied;
    const bool stacked = tensor.shape.size() == 3;
    if ((tensor.shape.size() != 2 && !stacked) || looked_up) continue;
    const int64_t n_out = tensor.shape[stacked ? 1 : 0];
    const Weight weight = packing.shape_of(tensor.dtype, tensor.shape.back(), n_out);
    if (weight.is_packed()) n_bytes += weight.packed_bytes() * (stacked ? tensor.shape[0] : 1);
  }
  return n_bytes;
}

}  // namespace ruv
