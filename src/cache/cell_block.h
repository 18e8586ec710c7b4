// CellBlock: the cells of one node of the prefix tree.
#pragma once

#include <memory>
#include <span>

#include "cache/prefix_cell.h"

namespace ruv {

// At most kPageTokens cells. Takes 4 bytes for each as long as all are tokens; rows of media
// take another 64 bytes for the block.
class CellBlock {
 public:
  int64_t size() const { return size_; }
  // Requires: kPageTokens cells at most. Throws std::bad_alloc, with nothing changed, where there
  // are rows of media.
  void assign(std::span<const PrefixCell> cells);
  // All cells, then zeros.
  PageCells cells() const;

  // How many leading cells equal those of `text`.
  int64_t n_common(std::span<const PrefixCell> text) const;
  // Compares by the first cell that differs; a beginning sorts before what it begins.
  bool sorts_before(std::span<const PrefixCell> text) const;

 private:
  using Halves = std::array<uint32_t, kPageTokens>;

  PrefixCell at(size_t i) const;
  bool has_tokens(std::span<const PrefixCell, kPageTokens> text) const;

  Halves low_ = {};
  std::unique_ptr<Halves> high_;  // null: all zero
  uint8_t size_ = 0;
};

}  // namespace ruv
