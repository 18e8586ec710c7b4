// What codes of all kinds share: blocks of rows, and distances from products.
#include "memory/code_rows.h"

#include <algorithm>
#include <cmath>

#include "memory/product_codes.h"
#include "memory/scaled_codes.h"

namespace ruv {

std::unique_ptr<CodeRows> CodeRows::create(VectorCodes codes, Metric metric, int64_t n_dims) {
  switch (codes) {
    case VectorCodes::none:
      break;
    case VectorCodes::int8:
      return std::make_unique<Int8Codes>(metric, n_dims);
    case VectorCodes::f16:
      return std::make_unique<HalfCodes>(metric, n_dims);
    case VectorCodes::int4:
      return std::make_unique<Int4Codes>(metric, n_dims);
    case VectorCodes::binary:
      return std::make_unique<BinaryCodes>(metric, n_dims);
    case VectorCodes::product:
      return std::make_unique<ProductCodes>(metric, n_dims);
  }
  return nullptr;
}

Status CodeRows::grow(int64_t n_rows) {
  const int64_t n_blocks = (n_rows + kRowsOfBlock - 1) / kRowsOfBlock;
  while (std::ssize(blocks_) < n_blocks) {
    blocks_.push_back(TRY(Buffer::allocate(kRowsOfBlock * row_bytes_)));
  }
  scales_.resize(std::max(scales_.size(), static_cast<size_t>(n_rows)));
  return {};
}

int64_t CodeRows::n_bytes() const {
  return std::ssize(blocks_) * kRowsOfBlock * row_bytes_ +
         std::ssize(scales_) * static_cast<int64_t>(sizeof(RowScale));
}

Status CodeRows::save(PieceWriter& file, std::span<const uint32_t> rows) const {
  for (const uint32_t row : rows) {
    TRY(file.put(scales_[row]));
    const std::span<const uint8_t> codes(code(row), static_cast<size_t>(row_bytes_));
    TRY(file.write(std::as_bytes(codes)));
  }
  return {};
}

// Any bytes are codes; scales must be numbers, so that distances are.
Status CodeRows::load(PieceReader& file, std::span<const uint32_t> rows) {
  for (const uint32_t row : rows) {
    scales_[row] = TRY(file.get<RowScale>());
    const std::span<uint8_t> codes(code_to_set(row), static_cast<size_t>(row_bytes_));
    TRY(file.read(std::as_writable_bytes(codes)));
    const bool are_numbers =
        std::isfinite(scales_[row].scale) && std::isfinite(scales_[row].square);
    if (!are_numbers) return file.error("the scale of a code is not a number");
  }
  return {};
}

void CodeRows::collect(CodedQuery& query, std::span<const uint32_t> rows) const {
  query.rows.clear();
  for (const uint32_t row : rows) query.rows.push_back(code(row));
}

// |q - x|² = |q|² + |x|² - 2 q · x.
void CodeRows::from_products(const CodedQuery& query, std::span<const uint32_t> rows,
                             float* out) const {
  for (size_t i = 0; i < rows.size(); ++i) {
    const RowScale& row = scales_[rows[i]];
    const float product = query.scale.scale * row.scale * static_cast<float>(query.counts[i]);
    out[i] = is_product() ? -product : query.scale.square + row.square - 2 * product;
  }
}

}  // namespace ruv
