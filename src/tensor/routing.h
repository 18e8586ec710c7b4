// How a layer's router chooses among its experts, by name. A family's record chooses among them and
// a device computes them (Ops::route).
#pragma once

#include <cstdint>

namespace ruv {

// What the router's numbers become. softmax: of all experts' numbers. sigmoid: of each.
// sparsemixer: of two experts, one after the other, each by the softmax of those numbers that are
// close to the greatest of the experts that are left (Phi-3.5-MoE).
enum class RouterScore : uint8_t { softmax, sigmoid, sparsemixer };

// What ranks a group of experts: its greatest score, or the sum of its two greatest.
enum class GroupRank : uint8_t { best, best_two };

}  // namespace ruv
