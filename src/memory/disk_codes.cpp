// Centres are learnt as those of ProductCodes, from more rows: a file is built once.
#include "memory/disk_codes.h"

#include <algorithm>
#include <cmath>

#include "kernels/distances.h"
#include "memory/product_codes.h"

namespace ruv {
namespace {

constexpr int64_t kMostToLearnFrom = 16384;
constexpr int64_t kCentreNumbers = kCentresOfPart * kNumbersOfPart;

std::span<std::byte> bytes_of(const Buffer& buffer) {
  return {buffer.get(), static_cast<size_t>(buffer.n_bytes())};
}

}  // namespace

Result<DiskCodes> DiskCodes::allocate(const DiskShape& shape) {
  Buffer centres = TRY(Buffer::allocate(shape.centres_bytes()));
  Buffer codes = TRY(Buffer::allocate(shape.codes_bytes()));
  return DiskCodes(shape, std::move(centres), std::move(codes));
}

// Rows are taken again where there are fewer than centres.
void DiskCodes::learn(std::span<const float* const> rows, WorkerPool& pool) {
  const int64_t n_rows = std::ssize(rows);
  const int64_t n = std::max(kCentresOfPart, std::min(n_rows, kMostToLearnFrom));
  std::vector<const float*> from;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = n_rows < n ? i % n_rows : i * n_rows / n;
    from.push_back(rows[static_cast<size_t>(row)]);
  }
  pool.run_items(n_parts_, [&](int, int64_t part) {
    learn_centres(from, part * kNumbersOfPart, centres_.as<float>() + part * kCentreNumbers);
  });
}

void DiskCodes::set(int64_t node, const float* row, std::vector<float>& memory) {
  memory.resize(static_cast<size_t>(n_parts_ * kCentresOfPart));
  distance_kernels().l2_parts(row, centres_.as<float>(), n_parts_, memory.data());
  uint8_t* const codes = codes_.as<uint8_t>() + node * row_bytes_;
  for (int64_t part = 0; part < n_parts_; ++part) {
    codes[part] = nearest_centre(memory.data() + part * kCentresOfPart);
  }
}

// Parts that only fill a row up add nothing.
void DiskCodes::begin(const float* query, std::vector<float>& table) const {
  table.resize(static_cast<size_t>(row_bytes_ * kCentresOfPart));
  std::fill(table.begin() + n_parts_ * kCentresOfPart, table.end(), 0.0F);
  const DistanceKernels& kernels = distance_kernels();
  const PartKernel kernel = metric_ == Metric::manhattan ? kernels.manhattan_parts
                            : metric_ == Metric::cosine  ? kernels.dot_parts
                                                         : kernels.l2_parts;
  kernel(query, centres_.as<float>(), n_parts_, table.data());
}

void DiskCodes::measure(std::span<const float> table, std::span<const uint32_t> nodes,
                        std::vector<const uint8_t*>& memory, float* out) const {
  memory.clear();
  for (const uint32_t node : nodes) memory.push_back(codes_.as<uint8_t>() + node * row_bytes_);
  const auto n = std::ssize(nodes);
  distance_kernels().sum_parts(table.data(), memory.data(), n, row_bytes_, out);
  if (metric_ != Metric::cosine) return;
  for (int64_t i = 0; i < n; ++i) out[i] = -out[i];
}

std::span<std::byte> DiskCodes::centres() const { return bytes_of(centres_); }

std::span<std::byte> DiskCodes::codes() const { return bytes_of(codes_); }

bool DiskCodes::are_centres_numbers() const {
  const std::span<const float> numbers(centres_.as<float>(),
                                       static_cast<size_t>(n_parts_ * kCentreNumbers));
  return std::ranges::all_of(numbers, [](float x) { return std::fabs(x) <= kMostNumber; });
}

}  // namespace ruv
