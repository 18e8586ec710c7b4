// A Merkle tree: one digest, the root, for a list of digests, so that a few digests show that one
// of them is in the list. As in RFC 6962, 2.1: the left half has the largest power of two below the
// number of leaves, and a node is hashed with another purpose than a leaf.
#pragma once

#include <vector>

#include "audit/digest.h"

namespace ruv {

// Requires: leaves is not empty.
Digest merkle_root(std::span<const Digest> leaves);
// The digests beside the way from a leaf to the root, lowest first. Requires: leaf < leaves.size().
std::vector<Digest> merkle_path(std::span<const Digest> leaves, size_t leaf);
// The root that `digest`, the leaf of this number among n, and its path give; nothing where the
// path has another length than such a tree's.
std::optional<Digest> root_of_path(const Digest& digest, uint64_t leaf, uint64_t n,
                                   std::span<const Digest> path);

}  // namespace ruv
