#include "cache/cell_block.h"

#include "base/check.h"

namespace ruv {
namespace {

uint32_t high_half(PrefixCell cell) { return static_cast<uint32_t>(cell.bits() >> 32); }

}  // namespace

void CellBlock::assign(std::span<const PrefixCell> cells) {
  CHECK(cells.size() <= kPageTokens);
  std::unique_ptr<Halves> high;
  if (std::ranges::any_of(cells, high_half)) {
    high = std::make_unique<Halves>();
    std::ranges::transform(cells, high->begin(), high_half);
  }
  high_ = std::move(high);
  low_ = {};
  std::ranges::transform(cells, low_.begin(),
                         [](PrefixCell cell) { return static_cast<uint32_t>(cell.bits()); });
  size_ = static_cast<uint8_t>(cells.size());
}

PrefixCell CellBlock::at(size_t i) const {
  const uint64_t high = high_ == nullptr ? 0 : (*high_)[i];
  return PrefixCell::of_bits(high << 32 | low_[i]);
}

PageCells CellBlock::cells() const {
  PageCells all;
  for (size_t i = 0; i < all.size(); ++i) all[i] = at(i);
  return all;
}

// Whole pages of equal tokens are most of what a match compares. Without a branch for each cell
// the loop becomes vector instructions.
bool CellBlock::has_tokens(std::span<const PrefixCell, kPageTokens> text) const {
  uint64_t differences = high_ == nullptr ? 0 : 1;
  for (size_t i = 0; i < kPageTokens; ++i) differences |= text[i].bits() ^ low_[i];
  return differences == 0;
}

int64_t CellBlock::n_common(std::span<const PrefixCell> text) const {
  const size_t n = std::min<size_t>(size_, text.size());
  if (n == kPageTokens && has_tokens(text.first<kPageTokens>())) return kPageTokens;
  size_t i = 0;
  while (i < n && at(i) == text[i]) ++i;
  return static_cast<int64_t>(i);
}

bool CellBlock::sorts_before(std::span<const PrefixCell> text) const {
  const auto i = static_cast<size_t>(n_common(text));
  if (i == size_ || i == text.size()) return size_ < text.size();
  return at(i) < text[i];
}

}  // namespace ruv
