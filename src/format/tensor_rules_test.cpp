#include "format/tensor_rules.h"

#include <gtest/gtest.h>

namespace ruv::tensor_rules_test {
namespace {

TEST(TensorRules, PatternsFitWholeNames) {
  constexpr const char* kName = "blk.12.ffn_down.weight";
  for (const char* fits : {"*", "blk.*", "*.weight", "blk.*.ffn_down.weight", "blk.1?.ffn*", "**",
                           "blk.12.ffn_down.weight", "*ffn*", "blk.12.ffn_down.weight*"}) {
    EXPECT_TRUE(fits_pattern(kName, fits)) << fits;
  }
  for (const char* misses : {"", "blk", "ffn_down", "blk.?.ffn_down.weight", "*.bias", "*x*",
                             "blk.12.ffn_down.weight?", "blk.*.attn*"}) {
    EXPECT_FALSE(fits_pattern(kName, misses)) << misses;
  }
  EXPECT_TRUE(fits_pattern("", ""));
  EXPECT_TRUE(fits_pattern("aab", "*ab"));
  EXPECT_FALSE(fits_pattern("", "?"));
}

// Each * makes a backtracking matcher try all lengths again.
TEST(TensorRules, ManyStarsTakeLittleTime) {
  const std::string name(20'000, 'a');
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "a*";
  EXPECT_FALSE(fits_pattern(name, pattern + "b"));
  EXPECT_TRUE(fits_pattern(name, pattern));
}

TEST(TensorRules, ReadsPatternAndFormat) {
  const auto rule = parse_tensor_rule("blk.*=q6_k");
  ASSERT_TRUE(rule.has_value());
  EXPECT_EQ(rule->pattern, "blk.*");
  EXPECT_EQ(rule->dtype, DType::q6_k);
  for (const char* wrong : {"", "blk.*", "=q6_k", "blk.*=", "blk.*=q9_k", "blk.*=Q6_K "}) {
    const auto refused = parse_tensor_rule(wrong);
    ASSERT_FALSE(refused.has_value()) << wrong;
    EXPECT_EQ(refused.error().code(), Code::invalid) << wrong;
  }
}

}  // namespace
}  // namespace ruv::tensor_rules_test
