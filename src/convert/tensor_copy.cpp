// Threads share the rows of a chunk; each has buffers of its own.
#include "convert/tensor_copy.h"

#include <algorithm>
#include <atomic>

#include "format/quantizable.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr int64_t kChunkBytes = int64_t{8} << 20;

// One tensor of the folder; the buffer has one chunk of its rows.
class TensorCopy {
 public:
  TensorCopy(const ModelFile& source, const StoredRows& tensor, WorkerPool& workers)
      : source_(source),
        tensor_(tensor),
        workers_(workers),
        to_(format_of(*tensor.to->dtype)),
        row_bytes_(to_.bytes_of(tensor.unit)) {}

  Status run(const WriteBytes& write) {
    const int64_t n_rows = tensor_.transposed ? tensor_.to->shape[0] : std::ssize(tensor_.rows);
    if (tensor_.transposed) row_bytes_ = to_.bytes_of(tensor_.to->shape[1]);
    const int64_t chunk = std::max<int64_t>(kChunkBytes / std::max<int64_t>(row_bytes_, 1), 1);
    for (int64_t row = 0; row < n_rows; row += chunk) {
      const Range rows{row, std::min(row + chunk, n_rows)};
      bytes_.resize(static_cast<size_t>((rows.end - rows.begin) * row_bytes_));
      TRY(tensor_.transposed ? fill_transposed(rows) : fill(rows));
      TRY(write(bytes_));
    }
    return {};
  }

 private:
  enum class Wrong : uint8_t { nothing, misfit, not_restored };

  Status fill(Range rows);
  Status fill_transposed(Range rows);
  Wrong make_row(const RowSource& from, std::byte* to, std::vector<float>& numbers,
                 std::vector<float>& again) const;
  void decode(const RowSource& from, int64_t unit, float* to) const;
  Status failed(const RowSource& from, Wrong wrong) const;

  const ModelFile& source_;
  const StoredRows& tensor_;
  WorkerPool& workers_;
  const Format& to_;
  int64_t row_bytes_;
  std::vector<std::byte> bytes_;
};

// A row of a tensor of one dimension is any part of it.
void TensorCopy::decode(const RowSource& from, int64_t unit, float* to) const {
  const Format& format = format_of(from.tensor->dtype);
  format.decode(from.tensor->bytes.data() + from.row * format.bytes_of(unit), to, unit);
}

// What 1 was added to is kept only where adding it again gives the same number.
TensorCopy::Wrong TensorCopy::make_row(const RowSource& from, std::byte* to,
                                       std::vector<float>& numbers,
                                       std::vector<float>& again) const {
  const int64_t unit = tensor_.unit;
  if (from.tensor->dtype == to_.dtype && !tensor_.minus_one) {
    const std::byte* const row = from.tensor->bytes.data() + from.row * row_bytes_;
    std::copy_n(row, row_bytes_, to);
    return Wrong::nothing;
  }
  numbers.resize(static_cast<size_t>(unit));
  decode(from, unit, numbers.data());
  if (tensor_.minus_one) {
    for (float& x : numbers) x -= 1.0F;
  }
  if (first_misfit(numbers, to_.dtype) >= 0) return Wrong::misfit;
  to_.encode(numbers.data(), nullptr, to, unit);
  if (!tensor_.minus_one) return Wrong::nothing;
  again.resize(numbers.size());
  to_.decode(to, again.data(), unit);
  decode(from, unit, numbers.data());
  for (size_t i = 0; i < again.size(); ++i) {
    if (again[i] + 1.0F != numbers[i]) return Wrong::not_restored;
  }
  return Wrong::nothing;
}

// The row is decoded once more to name the number.
Status TensorCopy::failed(const RowSource& from, Wrong wrong) const {
  if (wrong == Wrong::not_restored) {
    return fail(Code::unsupported,
                "{}: tensor '{}' has numbers that are not 1 and a number of its type, as which a "
                "folder of this model class has them",
                source_.path(), quoted_name(from.tensor->name));
  }
  std::vector<float> numbers(static_cast<size_t>(tensor_.unit));
  decode(from, tensor_.unit, numbers.data());
  const int64_t at = std::max<int64_t>(first_misfit(numbers, to_.dtype), 0);
  return misfit(source_.path(), from.tensor->name, from.row, at, numbers[static_cast<size_t>(at)],
                to_.dtype);
}

// Any of the rows that fail is named.
Status TensorCopy::fill(Range rows) {
  std::atomic<int64_t> bad{-1};
  std::atomic<Wrong> why{Wrong::nothing};
  workers_.run([&](int thread) {
    std::vector<float> numbers, again;
    const Range part = part_of(rows.end - rows.begin, thread, workers_.n_threads());
    for (int64_t i = part.begin; i < part.end; ++i) {
      const RowSource& from = tensor_.rows[static_cast<size_t>(rows.begin + i)];
      const Wrong wrong = make_row(from, bytes_.data() + i * row_bytes_, numbers, again);
      if (wrong == Wrong::nothing) continue;
      bad = rows.begin + i;
      why = wrong;
    }
  });
  if (bad < 0) return {};
  return failed(tensor_.rows[static_cast<size_t>(bad.load())], why);
}

// Row i of the result is column i of the source, whose rows are decoded for each chunk.
Status TensorCopy::fill_transposed(Range rows) {
  const TensorInfo& from = *tensor_.rows.front().tensor;
  const int64_t n_columns = from.shape[1];
  std::vector<float> numbers(static_cast<size_t>(n_columns));
  std::vector<std::byte> row(static_cast<size_t>(to_.bytes_of(n_columns)));
  const int64_t number = to_.block_bytes;
  for (int64_t j = 0; j < from.shape[0]; ++j) {
    const std::byte* bytes = from.bytes.data() + j * to_.bytes_of(n_columns);
    if (from.dtype != to_.dtype) {
      decode({&from, j}, n_columns, numbers.data());
      if (first_misfit(numbers, to_.dtype) >= 0) return failed({&from, j}, Wrong::misfit);
      to_.encode(numbers.data(), nullptr, row.data(), n_columns);
      bytes = row.data();
    }
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      std::copy_n(bytes + i * number, number,
                  bytes_.data() + (i - rows.begin) * row_bytes_ + j * number);
    }
  }
  return {};
}

}  // namespace

Status copy_tensor(const ModelFile& source, const StoredRows& tensor, WorkerPool& workers,
                   const WriteBytes& write) {
  return TensorCopy(source, tensor, workers).run(write);
}

}  // namespace ruv
