#include "model/weight_source.h"

#include <fmt/ranges.h>

#include <cstring>
#include <numeric>

namespace ruv {

MatrixRows MatrixRows::part(int64_t first, int64_t n) const {
  MatrixRows result{dtype, n_in, {}, owned};
  result.rows.assign(rows.begin() + first, rows.begin() + first + n);
  return result;
}

Result<const TensorInfo*> WeightSource::find(const std::string& name) const {
  const TensorInfo* const tensor = file_->find_tensor(name);
  if (tensor == nullptr) {
    return fail(Code::not_found, "{}: tensor '{}' is missing", file_->path(), name);
  }
  return tensor;
}

Result<MatrixRows> WeightSource::matrix(const std::string& name, int64_t n_out,
                                        int64_t n_in) const {
  const TensorInfo& tensor = *TRY(find(name));
  const bool fits = tensor.shape.size() == 2 && tensor.shape[1] == n_in &&
                    (n_out < 0 || tensor.shape[0] == n_out);
  if (!fits) {
    return fail(Code::corrupt, "{}: tensor '{}' has shape ({}), expected ({}, {})", file_->path(),
                name, fmt::join(tensor.shape, ", "), n_out < 0 ? "any" : std::to_string(n_out),
                n_in);
  }
  const std::string scale = name.substr(0, name.rfind('.')) + ".scale";
  if (has(scale)) {
    return fail(Code::unsupported, "{}: tensor '{}' is scaled by a tensor of its own, '{}'",
                file_->path(), name, scale);
  }
  if (tensor.transposed) return transposed(tensor);
  MatrixRows result{tensor.dtype, n_in, {}, nullptr};
  const int64_t row_bytes = format_of(tensor.dtype).bytes_of(n_in);
  result.rows.resize(static_cast<size_t>(tensor.shape[0]));
  for (size_t i = 0; i < result.rows.size(); ++i) {
    result.rows[i] = tensor.bytes.data() + static_cast<int64_t>(i) * row_bytes;
  }
  return result;
}

Result<MatrixRows> WeightSource::transposed(const TensorInfo& tensor) const {
  const int64_t n_out = tensor.shape[0];
  const int64_t n_in = tensor.shape[1];
  const auto size = static_cast<size_t>(format_of(tensor.dtype).block_bytes);
  MatrixRows result{tensor.dtype, n_in, {}, nullptr};
  result.owned =
      std::make_shared<Buffer>(TRY(Buffer::allocate(n_out * n_in * static_cast<int64_t>(size))));
  std::byte* to = result.owned->get();
  for (int64_t row = 0; row < n_out; ++row) {
    result.rows.push_back(to);
    for (int64_t col = 0; col < n_in; ++col, to += size) {
      std::memcpy(to, tensor.bytes.data() + static_cast<size_t>(col * n_out + row) * size, size);
    }
  }
  return result;
}

Result<Vector> WeightSource::vector(const std::string& name, int64_t n) const {
  const TensorInfo& tensor = *TRY(find(name));
  if (tensor.n_elements() != n) {
    return fail(Code::corrupt, "{}: tensor '{}' has {} numbers, expected {}", file_->path(), name,
                tensor.n_elements(), n);
  }
  const Format& format = format_of(tensor.dtype);
  if (n % format.block_size != 0) {
    return fail(Code::unsupported, "{}: tensor '{}': a vector of {} cannot be {}", file_->path(),
                name, n, format.name);
  }
  Vector result(static_cast<size_t>(n));
  format.decode(tensor.bytes.data(), result.data(), n);
  return result;
}

Result<Vector> WeightSource::optional_vector(const std::string& name, int64_t n) const {
  if (!has(name)) return Vector{};
  return vector(name, n);
}

Result<Vector> WeightSource::norm(const std::string& name, int64_t n) const {
  Vector result = TRY(vector(name, n));
  if (file_->norms_minus_one()) {
    for (float& x : result) x += 1;
  }
  return result;
}

Result<Weight> WeightSource::pack(const MatrixRows& matrix) const {
  return pack_weight(*kernels_, *pool_, matrix.dtype, matrix.n_in, matrix.rows);
}

Weight WeightSource::lookup(MatrixRows matrix) {
  Weight weight;
  weight.n_out = static_cast<int64_t>(matrix.rows.size());
  weight.n_in = matrix.n_in;
  weight.dtype = matrix.dtype;
  weight.rows = std::move(matrix.rows);
  return weight;
}

std::vector<int64_t> halves_from_neighbours(int64_t n_rows, int64_t head_dim, int64_t n_dims) {
  std::vector<int64_t> order(static_cast<size_t>(n_rows));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t head = 0; head + head_dim <= n_rows; head += head_dim) {
    for (int64_t i = 0; i < n_dims / 2; ++i) {
      order[static_cast<size_t>(head + i)] = head + 2 * i;
      order[static_cast<size_t>(head + n_dims / 2 + i)] = head + 2 * i + 1;
    }
  }
  return order;
}

}  // namespace ruv
