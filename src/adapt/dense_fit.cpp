// The best low-rank product for a matrix of numbers: block Krylov iteration. A basis K of the range
// of M grows by blocks M (Mᵀ K); M is then near K · Wᵀ with W = Mᵀ K, whose singular parts give the
// answer. It is exact once the basis spans the range.
#include <algorithm>
#include <cmath>

#include "adapt/thin_product.h"
#include "base/rng.h"

namespace ruv {
namespace {

// Directions beyond the rank, which make the first blocks converge.
constexpr int64_t kMoreDirections = 8;
// The basis ends at this many blocks, or columns where that is more.
constexpr int64_t kMaxBlocks = 10, kAlwaysColumns = 512;
// Share of the squares in the first `rank` parts that another block must find.
constexpr double kWorthABlock = 1e-14;

// Numbers by rows, so that the products' inner loops run along memory.
struct RowBlock {
  explicit RowBlock(const Columns& x) : RowBlock(x.n_rows, x.n_cols) {
    for (int64_t j = 0; j < n_cols; ++j) {
      for (int64_t i = 0; i < n_rows; ++i) {
        row(i)[static_cast<size_t>(j)] = x.col(j)[static_cast<size_t>(i)];
      }
    }
  }
  RowBlock(int64_t rows, int64_t cols)
      : n_rows(rows), n_cols(cols), numbers(static_cast<size_t>(rows * cols)) {}
  std::span<double> row(int64_t i) {
    return {numbers.data() + i * n_cols, static_cast<size_t>(n_cols)};
  }
  Columns columns() {
    Columns x(n_rows, n_cols);
    for (int64_t i = 0; i < n_rows; ++i) {
      for (int64_t j = 0; j < n_cols; ++j) {
        x.col(j)[static_cast<size_t>(i)] = row(i)[static_cast<size_t>(j)];
      }
    }
    return x;
  }
  int64_t n_rows, n_cols;
  std::vector<double> numbers;
};

class DenseFit {
 public:
  DenseFit(const DenseChange& x, int64_t rank, WorkerPool& pool)
      : x_(x), rank_(rank), pool_(pool), basis_(x.n_rows, 0), images_(x.n_cols, 0) {}

  ThinProduct run(uint64_t seed) {
    const int64_t smaller = std::min(x_.n_rows, x_.n_cols);
    const int64_t n_block = std::min(rank_ + kMoreDirections, smaller);
    const int64_t n_most = std::min(smaller, std::max(kMaxBlocks * n_block, kAlwaysColumns));
    Rng rng(seed);
    Columns block(x_.n_cols, n_block);
    for (double& number : block.numbers) number = 2 * rng.uniform() - 1;
    double found = -1;
    while (true) {
      Columns added = images_of(new_directions(times(block), n_most));
      if (added.n_cols == 0) break;
      for (int64_t j = 0; j < added.n_cols; ++j) images_.append(added.col(j));
      parts_ = singular_parts(qr_of(images_).r);
      const double now = squares();
      if (now - found <= kWorthABlock * now || basis_.n_cols >= n_most) break;
      found = now;
      block = std::move(added);
    }
    return pair();
  }

 private:
  // M · block.
  Columns times(const Columns& block) {
    RowBlock in(block), out(x_.n_rows, block.n_cols);
    pool_.run([&](int thread) {
      const Range rows = part_of(x_.n_rows, thread, pool_.n_threads());
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        const float* const numbers = x_.row(i);
        for (int64_t j = 0; j < x_.n_cols; ++j) add_scaled(out.row(i), numbers[j], in.row(j));
      }
    });
    return out.columns();
  }
  // Mᵀ · block; each thread has columns of M.
  Columns images_of(const Columns& block) {
    RowBlock in(block), out(x_.n_cols, block.n_cols);
    pool_.run([&](int thread) {
      const Range cols = part_of(x_.n_cols, thread, pool_.n_threads());
      for (int64_t i = 0; i < x_.n_rows; ++i) {
        const float* const numbers = x_.row(i);
        for (int64_t j = cols.begin; j < cols.end; ++j) {
          add_scaled(out.row(j), numbers[j], in.row(i));
        }
      }
    });
    return out.columns();
  }
  // Those that the basis gets.
  Columns new_directions(const Columns& block, int64_t n_most) {
    const int64_t before = basis_.n_cols;
    std::vector<double> coefficients;
    for (int64_t j = 0; j < block.n_cols && basis_.n_cols < n_most; ++j) {
      extend_basis(basis_, {block.col(j).begin(), block.col(j).end()}, coefficients);
    }
    Columns added(x_.n_rows, 0);
    for (int64_t j = before; j < basis_.n_cols; ++j) added.append(basis_.col(j));
    return added;
  }
  int64_t n_parts() const { return std::min<int64_t>(rank_, std::ssize(parts_.values)); }
  double squares() const {
    double sum = 0;
    for (int64_t j = 0; j < n_parts(); ++j) sum += std::pow(parts_.values[size_t(j)], 2);
    return sum;
  }
  // M is near K · V · Vᵀ · Wᵀ with the first right parts V of W.
  ThinProduct pair() const {
    ThinProduct out{Columns(x_.n_rows, 0), Columns(x_.n_cols, 0)};
    if (parts_.values.empty()) return out;
    Columns first(parts_.right.n_rows, 0);
    for (int64_t j = 0; j < n_parts(); ++j) first.append(parts_.right.col(j));
    out = {product(basis_, first), product(images_, first)};
    for (int64_t j = 0; j < n_parts(); ++j) {
      const double root = std::sqrt(parts_.values[static_cast<size_t>(j)]);
      for (double& number : out.b.col(j)) number *= root;
      for (double& number : out.a.col(j)) number *= root > 0 ? 1 / root : 0;
    }
    return out;
  }

  const DenseChange& x_;
  int64_t rank_;
  WorkerPool& pool_;
  Columns basis_, images_;  // K and W
  SingularParts parts_;     // of the factor R of W
};

}  // namespace

ThinProduct truncated(const DenseChange& x, int64_t rank, uint64_t seed, WorkerPool& pool) {
  return DenseFit(x, rank, pool).run(seed);
}

double relative_error(const DenseChange& exact, const ThinProduct& fitted, WorkerPool& pool) {
  std::vector<double> errors(static_cast<size_t>(exact.n_rows)), squares = errors;
  pool.run([&](int thread) {
    const Range rows = part_of(exact.n_rows, thread, pool.n_threads());
    std::vector<double> left(static_cast<size_t>(exact.n_cols));
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      const auto at = static_cast<size_t>(i);
      std::copy_n(exact.row(i), exact.n_cols, left.begin());
      squares[at] = dot(left, left);
      for (int64_t k = 0; k < fitted.rank(); ++k) {
        add_scaled(left, -fitted.b.col(k)[at], fitted.a.col(k));
      }
      errors[at] = dot(left, left);
    }
  });
  double error = 0, square = 0;
  for (size_t i = 0; i < errors.size(); ++i) {
    error += errors[i];
    square += squares[i];
  }
  return error == 0 ? 0 : std::sqrt(error / square);
}

}  // namespace ruv
