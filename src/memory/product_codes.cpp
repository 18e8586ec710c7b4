// Learning costs rows · 256 · numbers of a vector for each of eight rounds; coding a row one such
// pass. Parts are learnt by different threads, each by one alone.
#include "memory/product_codes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "kernels/distances.h"

namespace ruv {
namespace {

constexpr int kRounds = 8;

}  // namespace

uint8_t nearest_centre(const float* distances) {
  return static_cast<uint8_t>(std::min_element(distances, distances + kCentresOfPart) - distances);
}

// A row has bytes for 16 parts at a time, as DistanceKernels::sum_parts reads them.
ProductCodes::ProductCodes(Metric metric, int64_t n_dims)
    : CodeRows(metric, n_dims, (n_dims + 63) / 64 * 16),
      n_parts_((n_dims + kNumbersOfPart - 1) / kNumbersOfPart) {
  static_assert(kCentreFloats == kCentresOfPart * kNumbersOfPart);
}

Status ProductCodes::allocate() {
  centres_ = TRY(Buffer::allocate(n_parts_ * kCentreFloats * static_cast<int64_t>(sizeof(float))));
  return {};
}

Status ProductCodes::learn(std::span<const float* const> rows, WorkerPool& pool) {
  CHECK(std::ssize(rows) >= kCentresOfPart);
  TRY(allocate());
  pool.run_items(n_parts_, [&](int, int64_t part) {
    learn_centres(rows, part * kNumbersOfPart, centres_of(part));
  });
  return {};
}

// Begins with rows at even distances; a centre that no row is nearest to stays where it is.
void learn_centres(std::span<const float* const> rows, int64_t first, float* centres) {
  for (int64_t centre = 0; centre < kCentresOfPart; ++centre) {
    const auto row = static_cast<size_t>(centre * std::ssize(rows) / kCentresOfPart);
    for (int64_t d = 0; d < kNumbersOfPart; ++d) {
      centres[d * kCentresOfPart + centre] = rows[row][first + d];
    }
  }
  std::array<float, kCentresOfPart> distances;
  for (int round = 0; round < kRounds; ++round) {
    std::array<std::array<double, kNumbersOfPart>, kCentresOfPart> sums = {};
    std::array<int64_t, kCentresOfPart> counts = {};
    for (const float* const row : rows) {
      distance_kernels().l2_parts(row + first, centres, 1, distances.data());
      const size_t nearest = nearest_centre(distances.data());
      ++counts[nearest];
      for (size_t d = 0; d < kNumbersOfPart; ++d) {
        sums[nearest][d] += double{row[first + static_cast<int64_t>(d)]};
      }
    }
    for (size_t centre = 0; centre < kCentresOfPart; ++centre) {
      if (counts[centre] == 0) continue;
      for (size_t d = 0; d < kNumbersOfPart; ++d) {
        centres[d * kCentresOfPart + centre] =
            static_cast<float>(sums[centre][d] / static_cast<double>(counts[centre]));
      }
    }
  }
}

void ProductCodes::set(uint32_t number, const float* numbers, CodedQuery& memory) {
  memory.numbers.resize(static_cast<size_t>(row_bytes_ * kCentresOfPart));
  distance_kernels().l2_parts(numbers, centres_.as<float>(), n_parts_, memory.numbers.data());
  uint8_t* const codes = code_to_set(number);
  for (int64_t part = 0; part < n_parts_; ++part) {
    codes[part] = nearest_centre(memory.numbers.data() + part * kCentresOfPart);
  }
}

// Parts that only fill a row up add nothing.
void ProductCodes::begin(const float* query, CodedQuery& memory) const {
  memory.numbers.resize(static_cast<size_t>(row_bytes_ * kCentresOfPart));
  std::fill(memory.numbers.begin() + n_parts_ * kCentresOfPart, memory.numbers.end(), 0.0F);
  const DistanceKernels& kernels = distance_kernels();
  const PartKernel kernel = is_product()                   ? kernels.dot_parts
                            : metric_ == Metric::manhattan ? kernels.manhattan_parts
                                                           : kernels.l2_parts;
  kernel(query, centres_.as<float>(), n_parts_, memory.numbers.data());
}

void ProductCodes::measure(CodedQuery& query, std::span<const uint32_t> rows, float* out) const {
  collect(query, rows);
  const auto n = std::ssize(rows);
  distance_kernels().sum_parts(query.numbers.data(), query.rows.data(), n, row_bytes_, out);
  if (!is_product()) return;
  for (int64_t i = 0; i < n; ++i) out[i] = -out[i];
}

Status ProductCodes::save(PieceWriter& file, std::span<const uint32_t> rows) const {
  TRY(file.put(static_cast<uint8_t>(is_used_)));
  if (!is_used_) return {};
  const auto n = static_cast<size_t>(n_parts_ * kCentreFloats);
  TRY(file.write(std::as_bytes(std::span<const float>(centres_.as<float>(), n))));
  for (const uint32_t row : rows) {
    const std::span<const uint8_t> codes(code(row), static_cast<size_t>(n_parts_));
    TRY(file.write(std::as_bytes(codes)));
  }
  return {};
}

// What is read may be anybody's: any byte is a centre, and centres must be numbers of a vector.
Status ProductCodes::load(PieceReader& file, std::span<const uint32_t> rows) {
  const auto is_used = TRY(file.get<uint8_t>());
  if (is_used > 1) return file.error("codes are neither learnt nor not");
  if (is_used == 0) return {};
  const auto n = static_cast<size_t>(n_parts_ * kCentreFloats);
  if (n * sizeof(float) > file.n_left()) return file.error("more centres than bytes");
  TRY(allocate());
  const std::span<float> centres(centres_.as<float>(), n);
  TRY(file.read(std::as_writable_bytes(centres)));
  const auto is_number = [](float x) { return std::fabs(x) <= kMostNumber; };
  if (!std::ranges::all_of(centres, is_number)) return file.error("a centre that is no vector");
  for (const uint32_t row : rows) {
    const std::span<uint8_t> codes(code_to_set(row), static_cast<size_t>(n_parts_));
    TRY(file.read(std::as_writable_bytes(codes)));
  }
  is_used_ = true;
  return {};
}

}  // namespace ruv
