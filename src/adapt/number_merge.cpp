// Two passes: the first finds the magnitude from which on the numbers of a change are kept, change
// by change in one buffer; the second joins the changes row by row into the same buffer.
#include "adapt/number_merge.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rng.h"

namespace ruv {
namespace {

// Numbers of a change that are above `magnitude` are kept, and of those equal to it the ones up to
// the place `last`, by rows.
struct KeptShare {
  float magnitude = -1;
  int64_t last = std::numeric_limits<int64_t>::max();

  bool has(float x, int64_t at) const {
    const float size = std::fabs(x);
    return size > magnitude || (size == magnitude && at <= last);
  }
};

// FNV-1a.
uint64_t name_hash(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

class NumberMerge {
 public:
  NumberMerge(const MergeRecipe& recipe, std::span<const ModuleChange> changes,
              const std::string& module, Buffer numbers, WorkerPool& pool)
      : recipe_(recipe),
        changes_(changes),
        n_rows_(changes.front().product.b.n_rows),
        n_cols_(changes.front().product.a.n_rows),
        seed_(Rng(recipe.seed).next() ^ name_hash(module)),
        numbers_(std::move(numbers)),
        pool_(pool),
        kept_(changes.size()) {}

  Buffer run() {
    if (!strategy_row(recipe_.strategy).takes_seed) {
      for (size_t i = 0; i < changes_.size(); ++i) kept_[i] = largest_of(i);
    }
    each_row([this](int64_t row, std::vector<std::vector<float>>& rows, std::vector<double>& sum) {
      for (size_t i = 0; i < changes_.size(); ++i) {
        read_row(i, row, rows[i], sum);
        thin_out(i, row, rows[i]);
      }
      join(rows, numbers_.as<float>() + row * n_cols_);
    });
    return std::move(numbers_);
  }

 private:
  template <class F>
  void each_row(F&& f) {
    const auto n = static_cast<size_t>(n_cols_);
    pool_.run([&](int thread) {
      std::vector<std::vector<float>> rows(changes_.size(), std::vector<float>(n));
      std::vector<double> sum(n);
      const Range part = part_of(n_rows_, thread, pool_.n_threads());
      for (int64_t row = part.begin; row < part.end; ++row) f(row, rows, sum);
    });
  }

  // Numbers of a row of a change, which are computed again each time in place of being kept.
  void read_row(size_t change, int64_t row, std::span<float> to, std::vector<double>& sum) const {
    const ThinProduct& product = changes_[change].product;
    std::ranges::fill(sum, 0);
    for (int64_t k = 0; k < product.rank(); ++k) {
      add_scaled(sum, product.b.col(k)[static_cast<size_t>(row)], product.a.col(k));
    }
    for (size_t j = 0; j < sum.size(); ++j) to[j] = static_cast<float>(sum[j]);
  }

  // Magnitudes of a change.
  void read_all(size_t change) {
    each_row([&](int64_t row, std::vector<std::vector<float>>& rows, std::vector<double>& sum) {
      read_row(change, row, rows[0], sum);
      float* const to = numbers_.as<float>() + row * n_cols_;
      for (size_t j = 0; j < sum.size(); ++j) to[j] = std::fabs(rows[0][j]);
    });
  }

  // The share of `density`, rounded down.
  KeptShare largest_of(size_t change) {
    const int64_t n = n_rows_ * n_cols_;
    const auto n_kept = static_cast<int64_t>(recipe_.density * static_cast<double>(n));
    if (n_kept >= n) return {};
    if (n_kept == 0) return {.magnitude = std::numeric_limits<float>::infinity(), .last = -1};
    read_all(change);
    float* const first = numbers_.as<float>();
    std::nth_element(first, first + n_kept - 1, first + n, std::greater<>());
    KeptShare kept{.magnitude = first[n_kept - 1], .last = -1};
    const int64_t n_above =
        std::count_if(first, first + n_kept, [&](float size) { return size > kept.magnitude; });
    read_all(change);
    int64_t n_equal = n_kept - n_above;
    for (int64_t at = 0; n_equal > 0; ++at) {
      if (first[at] != kept.magnitude) continue;
      kept.last = at;
      --n_equal;
    }
    return kept;
  }

  // Zeros for the numbers that are not kept.
  void thin_out(size_t change, int64_t row, std::span<float> numbers) const {
    if (!strategy_row(recipe_.strategy).takes_seed) {
      for (size_t j = 0; j < numbers.size(); ++j) {
        if (!kept_[change].has(numbers[j], row * n_cols_ + static_cast<int64_t>(j))) numbers[j] = 0;
      }
      return;
    }
    // Each row has a stream of its own, so that threads do not change what is dropped.
    Rng rng(seed_ ^ (uint64_t{changes_[change].adapter} << 40 | static_cast<uint64_t>(row)));
    for (float& number : numbers) {
      const bool is_kept = rng.uniform() < recipe_.density;
      number = is_kept ? static_cast<float>(number / recipe_.density) : 0;
    }
  }

  void join(std::span<const std::vector<float>> rows, float* to) const {
    const bool elects =
        recipe_.strategy == MergeStrategy::ties || recipe_.strategy == MergeStrategy::dare_ties;
    for (size_t j = 0; j < static_cast<size_t>(n_cols_); ++j) {
      to[j] = static_cast<float>(elects ? elected(rows, j) : summed(rows, j));
    }
  }
  double summed(std::span<const std::vector<float>> rows, size_t j) const {
    double sum = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      sum += recipe_.weight(changes_[i].adapter) * double{rows[i][j]};
    }
    return sum;
  }
  // The mean of the numbers with the sign of their sum, each times its weight.
  double elected(std::span<const std::vector<float>> rows, size_t j) const {
    double total = 0, sum = 0, n = 0;
    for (const std::vector<float>& row : rows) total += double{row[j]};
    for (size_t i = 0; i < rows.size(); ++i) {
      const double number = rows[i][j];
      if (number == 0 || (number > 0) != (total >= 0)) continue;
      sum += recipe_.weight(changes_[i].adapter) * number;
      ++n;
    }
    return n == 0 ? 0 : sum / n;
  }

  const MergeRecipe& recipe_;
  std::span<const ModuleChange> changes_;
  int64_t n_rows_, n_cols_;
  uint64_t seed_;
  Buffer numbers_;  // magnitudes of one change at a time, then the result
  WorkerPool& pool_;
  std::vector<KeptShare> kept_;
};

}  // namespace

Result<Buffer> merge_numbers(const MergeRecipe& recipe, std::span<const ModuleChange> changes,
                             const std::string& module, WorkerPool& pool) {
  const ThinProduct& product = changes.front().product;
  Buffer numbers = TRY(Buffer::allocate(product.b.n_rows * product.a.n_rows * 4));
  return NumberMerge(recipe, changes, module, std::move(numbers), pool).run();
}

}  // namespace ruv
