// Roots and paths of trees of all small sizes.
#include "audit/merkle.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

std::vector<Digest> leaves_of(size_t n) {
  std::vector<Digest> leaves;
  for (size_t i = 0; i < n; ++i) leaves.push_back(digest_of("leaf", {number_bytes(i)}));
  return leaves;
}

TEST(Merkle, APathLeadsFromItsLeafToTheRootAndFromNoOther) {
  for (size_t n = 1; n <= 70; ++n) {
    const std::vector<Digest> leaves = leaves_of(n);
    const Digest root = merkle_root(leaves);
    for (size_t leaf = 0; leaf < n; ++leaf) {
      std::vector<Digest> path = merkle_path(leaves, leaf);
      EXPECT_EQ(root_of_path(leaves[leaf], leaf, n, path), root);
      for (size_t other = 0; other < n; ++other) {
        if (other == leaf) continue;
        EXPECT_NE(root_of_path(leaves[leaf], other, n, path), root) << n << " " << leaf;
        EXPECT_NE(root_of_path(leaves[other], leaf, n, path), root);
      }
      path.push_back(root);
      EXPECT_EQ(root_of_path(leaves[leaf], leaf, n, path), std::nullopt);
    }
    EXPECT_EQ(root_of_path(leaves[0], n, n, {}), std::nullopt);
  }
}

TEST(Merkle, ARootFollowsFromEachLeafAndTheirOrder) {
  const std::vector<Digest> leaves = leaves_of(21);
  const Digest root = merkle_root(leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    std::vector<Digest> changed = leaves;
    changed[i][i] ^= std::byte{1};
    EXPECT_NE(merkle_root(changed), root);
    changed = leaves;
    std::swap(changed[i], changed[(i + 1) % leaves.size()]);
    EXPECT_NE(merkle_root(changed), root);
  }
  // A node cannot be shown as a leaf.
  const std::vector<Digest> two{merkle_root(std::span(leaves).first(16)),
                                merkle_root(std::span(leaves).subspan(16))};
  EXPECT_EQ(merkle_root(two), root);
  EXPECT_NE(digest_of("ruvllm audit node", {two[0], two[1]}),
            digest_of("ruvllm audit entry", {two[0], two[1]}));
}

TEST(Digests, HaveTheirPurposeInThem) {
  EXPECT_NE(digest_of("a", {as_bytes("b")}), digest_of("ab", {}));
  EXPECT_NE(digest_of("a", {as_bytes("b")}), digest_of("b", {as_bytes("b")}));
  EXPECT_EQ(digest_of("a", {as_bytes("b"), as_bytes("c")}), digest_of("a", {as_bytes("bc")}));
  const Digest digest = digest_of("a", {});
  EXPECT_EQ(*digest_from_hex(hex_of(digest), "it"), digest);
  EXPECT_FALSE(digest_from_hex("12", "it"));
  EXPECT_FALSE(digest_from_hex(std::string(63, '0') + "G", "it"));
}

}  // namespace
}  // namespace ruv
