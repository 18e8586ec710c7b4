#include "train/train_matrix.h"

#include <algorithm>

#include "base/check.h"

namespace ruv {
namespace {

// Rows are host memory: a training device takes them as they are.
const void* host_row(const Weight& rows, int64_t i) {
  return reinterpret_cast<const void*>(rows.plain.rows[static_cast<size_t>(i)].bits());
}

}  // namespace

template <class T>
Status TrainMatrix<T>::make_values() {
  if (has_values()) return {};
  Buffer values = TRY(Buffer::allocate(n_out() * n_in() * int64_t{sizeof(T)}));
  for (int64_t i = 0; i < n_out(); ++i) read_row(i, values.as<T>() + i * n_in());
  values_ = std::move(values);
  return {};
}

// The gradient begins with 0.
template <class T>
Status TrainMatrix<T>::train() {
  TRY(make_values());
  if (!is_trained()) gradient_ = TRY(Buffer::allocate(values_.n_bytes()));
  return {};
}

// Formats decode to float32, which double takes over exactly.
template <class T>
void TrainMatrix<T>::read_row(int64_t i, T* to) const {
  if (has_values()) {
    std::copy_n(values() + i * n_in(), n_in(), to);
    return;
  }
  const Format& format = format_of(rows_.dtype);
  if constexpr (sizeof(T) == sizeof(float)) {
    format.decode(host_row(rows_, i), to, n_in());
  } else {
    std::vector<float> row(static_cast<size_t>(n_in()));
    format.decode(host_row(rows_, i), row.data(), n_in());
    std::copy(row.begin(), row.end(), to);
  }
}

// Parts of one matrix may begin with the same row.
template <class T>
TrainMatrix<T>& TrainMatrices<T>::of(const Weight& weight) {
  CHECK(!weight.is_packed() && !weight.plain.empty());
  const uint64_t first = weight.plain.rows.front().bits();
  const auto [begin, end] = matrices_.equal_range(first);
  for (auto it = begin; it != end; ++it) {
    const Weight& known = it->second->file_rows();
    const bool same = known.dtype == weight.dtype && known.n_in == weight.n_in &&
                      known.plain.rows == weight.plain.rows;
    if (same) return *it->second;
  }
  return *matrices_.emplace(first, std::make_unique<TrainMatrix<T>>(weight))->second;
}

template <class T>
int64_t TrainMatrices<T>::n_bytes() const {
  int64_t sum = 0;
  for (const auto& [first, matrix] : matrices_) sum += matrix->n_bytes();
  return sum;
}

template class TrainMatrix<float>;
template class TrainMatrix<double>;
template class TrainMatrices<float>;
template class TrainMatrices<double>;

}  // namespace ruv
