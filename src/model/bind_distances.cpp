// Keys and queries of distances do not depend on the text, so they are computed at load: a step
// then multiplies each head's queries by one matrix of keys, as it does in latent attention.
#include "model/bind_distances.h"

#include <algorithm>
#include <cmath>

namespace ruv {
namespace {

constexpr size_t kRowsTogether = 4;  // that use a column of the matrix while it is in the cache

// Layer norm of each row, with sums of doubles.
void normalise(std::vector<float>& rows, const std::vector<float>& weight,
               const std::vector<float>& bias, float eps) {
  const size_t n = weight.size();
  for (size_t begin = 0; begin < rows.size(); begin += n) {
    float* const row = rows.data() + begin;
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; ++i) mean += double{row[i]};
    mean /= static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) squares += (double{row[i]} - mean) * (double{row[i]} - mean);
    const double root = std::sqrt(squares / static_cast<double>(n) + double{eps});
    for (size_t i = 0; i < n; ++i) {
      row[i] =
          static_cast<float>((double{row[i]} - mean) / root * double{weight[i]} + double{bias[i]});
    }
  }
}

// The matrix (n_out, n_in) as floats by columns: (n_in, n_out).
std::vector<float> columns_of(const MatrixRows& matrix) {
  const size_t n_out = matrix.rows.size();
  const auto n_in = static_cast<size_t>(matrix.n_in);
  std::vector<float> row(n_in), columns(n_out * n_in);
  for (size_t out = 0; out < n_out; ++out) {
    format_of(matrix.dtype).decode(matrix.rows[out], row.data(), matrix.n_in);
    for (size_t in = 0; in < n_in; ++in) columns[in * n_out + out] = row[in];
  }
  return columns;
}

// to = rows · matrixᵀ + bias, some rows at a time; each sum is in the order of a row's numbers.
void multiply(const std::vector<float>& rows, const MatrixRows& matrix,
              const std::vector<float>& bias, std::vector<float>& to) {
  const auto n_in = static_cast<size_t>(matrix.n_in);
  const size_t n_out = matrix.rows.size(), n_rows = rows.size() / n_in;
  const std::vector<float> columns = columns_of(matrix);
  to.assign(n_rows * n_out, 0.0F);
  for (size_t first = 0; first < n_rows; first += kRowsTogether) {
    const size_t last = std::min(first + kRowsTogether, n_rows);
    for (size_t row = first; row < last && !bias.empty(); ++row) {
      std::copy(bias.begin(), bias.end(), to.begin() + static_cast<std::ptrdiff_t>(row * n_out));
    }
    for (size_t in = 0; in < n_in; ++in) {
      const float* const column = columns.data() + in * n_out;
      for (size_t row = first; row < last; ++row) {
        const float factor = rows[row * n_in + in];
        float* const sums = to.data() + row * n_out;
        for (size_t out = 0; out < n_out; ++out) sums[out] += factor * column[out];
      }
    }
  }
}

// What one of the layer's matrices makes of the rows, a matrix for each head.
Result<std::vector<Weight>> heads_of(const LayerPlan& plan, const std::string& tensor,
                                     const DistanceRows& rows, WeightSource& source) {
  const int64_t n = plan.relative.n_columns;
  const int64_t n_out = plan.n_heads * plan.head_dim;
  const MatrixRows matrix = TRY(source.matrix(tensor + ".weight", n_out, plan.n_embd));
  const std::vector<float> bias = TRY(source.vector(tensor + ".bias", n_out));
  std::vector<float> products;
  TRY(source.make(matrix));
  if (rows.has_numbers) multiply(rows.numbers, matrix, bias, products);
  std::vector<Weight> heads;
  for (int64_t head = 0; head < plan.n_heads; ++head) {
    MatrixRows part{
        fmt::format("{}.distances[{}]", tensor, head), DType::f32, plan.head_dim, {}, nullptr};
    part.rows.resize(static_cast<size_t>(n));
    if (rows.has_numbers) {
      const int64_t n_bytes = n * plan.head_dim * int64_t{sizeof(float)};
      part.owned = std::make_shared<Buffer>(TRY(Buffer::allocate(n_bytes)));
      auto* to = part.owned->as<float>();
      for (int64_t row = 0; row < n; ++row, to += plan.head_dim) {
        std::copy_n(products.begin() + row * n_out + head * plan.head_dim, plan.head_dim, to);
        part.rows[static_cast<size_t>(row)] = reinterpret_cast<const std::byte*>(to);
      }
    }
    heads.push_back(TRY(source.pack(part)));
  }
  return heads;
}

}  // namespace

Result<Vector> bind_distance_table(const Model& model, const LayerPlan& plan,
                                   const std::string& name, WeightSource& source) {
  const int64_t n = plan.relative.n_columns, n_heads = plan.n_heads;
  const MatrixRows stored = TRY(source.matrix(name, -1, n_heads));
  if (std::ssize(stored.rows) < n) {
    return fail(Code::corrupt, "{}: tensor '{}' has {} rows, expected {}", model.file->path(),
                model.file->shown_tensor(name), stored.rows.size(), n);
  }
  const MatrixRows rows = TRY(source.as_f32(stored.part(0, n)));
  std::vector<float> table(static_cast<size_t>(n * n_heads), 0.0F);
  for (int64_t column = 0; column < n; ++column) {
    const auto* const row = reinterpret_cast<const float*>(rows.rows[static_cast<size_t>(column)]);
    for (int64_t head = 0; head < n_heads && row != nullptr; ++head) {
      table[static_cast<size_t>(head * n + column)] = row[head];
    }
  }
  return source.upload(std::move(table));
}

Result<DistanceRows> read_distance_rows(const Model& model, WeightSource& source) {
  const int64_t n = model.h.relative.n_columns, n_embd = model.h.n_embd;
  const std::string name = "rel_embd.weight";
  const MatrixRows stored = TRY(source.matrix(name, -1, n_embd));
  if (std::ssize(stored.rows) < n) {
    return fail(Code::corrupt, "{}: tensor '{}' has {} rows, expected {}", model.file->path(),
                model.file->shown_tensor(name), stored.rows.size(), n);
  }
  std::vector<float> weight, bias;
  if (model.h.relative.norms_rows) {
    weight = TRY(source.norm("rel_embd_norm.weight", n_embd));
    bias = TRY(source.vector("rel_embd_norm.bias", n_embd));
  }
  DistanceRows rows;
  rows.has_numbers = stored.rows.front() != nullptr;
  if (!rows.has_numbers) return rows;
  TRY(source.make(stored));
  rows.numbers.resize(static_cast<size_t>(n * n_embd));
  for (int64_t row = 0; row < n; ++row) {
    format_of(stored.dtype)
        .decode(stored.rows[static_cast<size_t>(row)], rows.numbers.data() + row * n_embd, n_embd);
  }
  if (model.h.relative.norms_rows) normalise(rows.numbers, weight, bias, model.h.norm_eps);
  return rows;
}

Status bind_distances(const Model& model, int64_t layer, const DistanceRows& rows,
                      WeightSource& source, LayerWeights& weights) {
  const LayerPlan& plan = model.plans[static_cast<size_t>(layer)];
  const RelativePlan& relative = plan.relative;
  const std::string prefix =
      fmt::format("blk.{}.attn_{}", layer, relative.shares_matrices ? "" : "pos_");
  if (relative.by_query) {
    weights.distance_keys = TRY(heads_of(plan, prefix + "k", rows, source));
  }
  if (relative.by_key) {
    weights.distance_queries = TRY(heads_of(plan, prefix + "q", rows, source));
  }
  return {};
}

}  // namespace ruv
