// Sums of squares are in double, each row's or column's in the order of its numbers, in blocks of
// their own: factors do not depend on the number of threads.
#include "model/row_lengths.h"

#include <cmath>

namespace ruv {
namespace {

// Tokens whose part of each column's sum is made by one thread.
constexpr int64_t kTokensOfBlock = 1024;

// A matrix of few rows or columns in float32.
class HostMatrix {
 public:
  explicit HostMatrix(const MatrixRows& matrix)
      : n_cols_(static_cast<size_t>(matrix.n_in)), numbers_(matrix.rows.size() * n_cols_) {
    float* to = numbers_.data();
    for (const std::byte* const row : matrix.rows) {
      format_of(matrix.dtype).decode(row, to, matrix.n_in);
      to += n_cols_;
    }
  }
  HostMatrix transposed() const {
    HostMatrix result(*this);
    const size_t n_rows = numbers_.size() / n_cols_;
    result.n_cols_ = n_rows;
    for (size_t i = 0; i < n_rows; ++i) {
      for (size_t j = 0; j < n_cols_; ++j) result.numbers_[j * n_rows + i] = row(i)[j];
    }
    return result;
  }
  const float* row(size_t i) const { return numbers_.data() + i * n_cols_; }

 private:
  size_t n_cols_;
  std::vector<float> numbers_;
};

// sum += scale · factors · matrix, row after row.
void add_rows_times(std::span<float> sum, float scale, std::span<const float> factors,
                    const HostMatrix& matrix) {
  for (size_t j = 0; j < factors.size(); ++j) {
    const float factor = scale * factors[j];
    const float* const row = matrix.row(j);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += factor * row[i];
  }
}

Result<std::vector<float>> factors_of(std::span<const double> squares,
                                      std::span<const float> magnitudes) {
  std::vector<float> factors(squares.size());
  for (size_t i = 0; i < squares.size(); ++i) {
    factors[i] = static_cast<float>(double{magnitudes[i]} / std::sqrt(squares[i]));
    if (std::isfinite(factors[i])) continue;
    return fail(Code::invalid, "row {} has the length {} and the magnitude {}", i,
                std::sqrt(squares[i]), magnitudes[i]);
  }
  return factors;
}

}  // namespace

Result<std::vector<float>> row_factors(const BaseRows& base, const Weight& matrix,
                                       const AddedRows& added, std::span<const float> magnitudes,
                                       WorkerPool& pool) {
  const HostMatrix a(added.a), b(added.b);
  std::vector<double> squares(static_cast<size_t>(matrix.n_out));
  pool.run_items(matrix.n_out, [&](int /*thread*/, int64_t i) {
    std::vector<float> row(static_cast<size_t>(matrix.n_in));
    base.decode(matrix, i, row.data());
    const auto at = static_cast<size_t>(i);
    add_rows_times(row, added.scale, {b.row(at), added.a.rows.size()}, a);
    for (const float number : row) squares[at] += double{number} * double{number};
  });
  return factors_of(squares, magnitudes);
}

Result<std::vector<float>> column_factors(const BaseRows& base, const AddedRows& added,
                                          std::span<const float> magnitudes, WorkerPool& pool) {
  const Weight& table = base.token_embd();
  const HostMatrix a(added.a), b = HostMatrix(added.b).transposed();
  const auto n = static_cast<size_t>(table.n_in);
  const int64_t n_blocks = (table.n_out + kTokensOfBlock - 1) / kTokensOfBlock;
  std::vector<std::vector<double>> parts(static_cast<size_t>(n_blocks), std::vector<double>(n));
  pool.run_items(n_blocks, [&](int /*thread*/, int64_t block) {
    std::vector<double>& part = parts[static_cast<size_t>(block)];
    std::vector<float> row(n);
    const int64_t end = std::min(table.n_out, (block + 1) * kTokensOfBlock);
    for (int64_t token = block * kTokensOfBlock; token < end; ++token) {
      base.decode(table, token, row.data());
      const std::span<const float> own(a.row(static_cast<size_t>(token)),
                                       static_cast<size_t>(added.a.n_in));
      add_rows_times(row, added.scale, own, b);
      for (size_t i = 0; i < n; ++i) part[i] += double{row[i]} * double{row[i]};
    }
  });
  std::vector<double> squares(n);
  for (const std::vector<double>& part : parts) {
    for (size_t i = 0; i < n; ++i) squares[i] += part[i];
  }
  return factors_of(squares, magnitudes);
}

}  // namespace ruv
