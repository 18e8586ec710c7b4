// allocate_formats: which format each tensor gets so that all fit into a number of bytes and the
// sum of what they lose is small.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ruv {

// One of the formats that a tensor may have.
struct FormatChoice {
  uint64_t n_bytes = 0;
  double loss = 0;  // in a unit that all tensors share, not negative
};

// The index of the choice of each item; nothing: not even the smallest choices fit. At least as
// good as what a Lagrange multiplier finds: steps along the lower hull of each item by loss saved
// per byte, the greatest first, and then whatever single choice still fits and saves most.
// Requires: each item has a choice. Takes n log n steps of all choices, and the last part items ·
// choices for each item that it changes.
std::optional<std::vector<size_t>> allocate_formats(
    std::span<const std::vector<FormatChoice>> items, uint64_t max_bytes);

}  // namespace ruv
