#include "text/token_mask.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace ruv {
namespace {

// Vocabularies end anywhere in a word of the mask, and have words that are full, empty and mixed.
TEST(TokenMask, LeavesTheLogitsOfItsTokens) {
  for (const int64_t n : {1, 63, 64, 65, 200}) {
    TokenMask mask(n);
    for (Token id = 0; id < std::min<int64_t>(n, 64); ++id) mask.add(id);
    if (n == 200) mask.add(std::vector<Token>{130, 199});
    std::vector<float> logits(static_cast<size_t>(n));
    std::iota(logits.begin(), logits.end(), -5.0F);
    mask.apply(logits);
    for (Token id = 0; id < n; ++id) {
      const bool in = id < 64 || id == 130 || id == 199;
      ASSERT_EQ(mask.has(id), in) << id << " of " << n;
      const float logit = logits[static_cast<size_t>(id)];
      ASSERT_TRUE(in ? logit == static_cast<float>(id) - 5 : std::isinf(logit) && logit < 0)
          << id << " of " << n;
    }
    mask.clear();
    EXPECT_FALSE(mask.has(0));
  }
}

// Logits may be fewer: embeddings are often padded beyond the tokenizer's vocabulary.
TEST(TokenMask, AppliesToTheFirstTokensAlone) {
  TokenMask mask(100);
  mask.add(2);
  std::vector<float> logits = {1, 2, 3};
  mask.apply(logits);
  EXPECT_EQ(logits[2], 3);
  EXPECT_TRUE(std::isinf(logits[0]) && std::isinf(logits[1]));
}

}  // namespace
}  // namespace ruv
