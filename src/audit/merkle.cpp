#include "audit/merkle.h"

#include <bit>

namespace ruv {
namespace {

Digest node_of(const Digest& left, const Digest& right) {
  return digest_of("ruvllm audit node", {left, right});
}

// Leaves of the left half.
size_t half_of(size_t n) { return std::bit_floor(n - 1); }

}  // namespace

// Recursive: the depth is the number of bits of n.
Digest merkle_root(std::span<const Digest> leaves) {
  if (leaves.size() == 1) return leaves[0];
  const size_t half = half_of(leaves.size());
  return node_of(merkle_root(leaves.first(half)), merkle_root(leaves.subspan(half)));
}

std::vector<Digest> merkle_path(std::span<const Digest> leaves, size_t leaf) {
  if (leaves.size() == 1) return {};
  const size_t half = half_of(leaves.size());
  const bool is_left = leaf < half;
  std::vector<Digest> path = is_left ? merkle_path(leaves.first(half), leaf)
                                     : merkle_path(leaves.subspan(half), leaf - half);
  path.push_back(merkle_root(is_left ? leaves.subspan(half) : leaves.first(half)));
  return path;
}

// Which side each step of the way is on follows from the numbers, from the root down.
std::optional<Digest> root_of_path(const Digest& digest, uint64_t leaf, uint64_t n,
                                   std::span<const Digest> path) {
  if (leaf >= n) return std::nullopt;
  std::vector<bool> is_left;
  while (n > 1) {
    const uint64_t half = std::bit_floor(n - 1);
    is_left.push_back(leaf < half);
    if (leaf >= half) leaf -= half;
    n = is_left.back() ? half : n - half;
  }
  if (path.size() != is_left.size()) return std::nullopt;
  Digest root = digest;
  for (const Digest& beside : path) {
    root = is_left.back() ? node_of(root, beside) : node_of(beside, root);
    is_left.pop_back();
  }
  return root;
}

}  // namespace ruv
