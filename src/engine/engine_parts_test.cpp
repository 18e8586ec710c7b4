// Sizes that follow from what a model's layers keep.
#include "engine/engine_parts.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(EngineParts, LargeStatesHaveFewerCheckpoints) {
  KvShape shape = {8, 64, 64};
  const auto n_for = [&](int64_t state_bytes, int64_t kept_tokens) {
    shape.state_bytes = state_bytes;
    return checkpoints_for({{{shape}}}, 8, kept_tokens);
  };
  EXPECT_EQ(n_for(0, 4096), 0);
  EXPECT_EQ(n_for(1 << 14, 0), 0) << "no prefixes are kept";
  EXPECT_EQ(n_for(1 << 14, 4096), 32);
  EXPECT_EQ(n_for(512 << 10, 4096), 16) << "8 MiB, as 4,096 tokens of 2 KiB";
  EXPECT_EQ(n_for(64 << 20, 4096), 8) << "one for each sequence";
  EXPECT_EQ(checkpoints_for({{{{.state_bytes = 64 << 20}}}}, 8, 4096), 8) << "no keys at all";
}

}  // namespace
}  // namespace ruv
