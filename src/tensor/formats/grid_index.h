// GridIndex: the entries of a codebook that are nearest to each point of its levels.
//
// A point is a choice of levels for all numbers of an entry, whether the codebook has it or not.
// There are 3^8 points for entries of eight numbers and 8^4 for entries of four, few enough to list
// the nearest entries of each once: an encoder rounds its numbers to levels, and compares only the
// entries listed for that point by the error that it cares for. 270 KB a codebook.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ruv {

// What a codebook's entries mean: see iq_grids.h for the packing.
struct GridBook {
  std::span<const uint16_t> entries;
  int n_digits;                  // numbers in an entry: 8 (indices of 2 bits) or 4 (of 4 bits)
  std::span<const float> level;  // what the indices mean: ascending multiples of 1/8
};

class GridIndex {
 public:
  // Entries listed for a point. Raising it makes encoding slower for a slightly smaller error.
  static constexpr int kNear = 20;

  explicit GridIndex(const GridBook& book);

  // The number of the entry that is the point itself, -1 if there is none.
  int entry_at(int point) const { return exact_[static_cast<size_t>(point)]; }
  // Numbers of the nearest entries, nearest first, ties by number.
  const uint16_t* near(int point) const { return &near_[static_cast<size_t>(point * kNear)]; }

 private:
  std::vector<int16_t> exact_;
  std::vector<uint16_t> near_;
};

}  // namespace ruv
