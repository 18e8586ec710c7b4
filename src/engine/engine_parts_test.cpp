// Sizes that follow from what a model's layers keep.
#include "engine/engine_parts.h"

#include <gtest/gtest.h>

#include "cache/page_store_record.h"
#include "engine/engine_core.h"

namespace ruv {
namespace {

TEST(EngineParts, DraftsOfLargeStatesAreFew) {
  KvShape shape = {1, 4, 4, KvType::f16};
  EXPECT_EQ(EngineCore::draft_rows({{{shape}}}), 64);
  for (const auto& [state_bytes, n] :
       {std::pair(int64_t{4} << 20, 64), std::pair(int64_t{75} << 20, 3),
        std::pair(int64_t{1} << 40, 0)}) {
    shape.state_bytes = state_bytes;
    EXPECT_EQ(EngineCore::draft_rows({{{shape}}}), n);
    EXPECT_EQ(EngineCore::frames_for_steps({}, {{{shape}}}).n_drafts, n);
  }
}

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

// Layers that alternate, as many as large models have, fit into the label of a file.
TEST(EngineParts, LayersAreNamedByKind) {
  CacheLayout layout;
  for (int64_t i = 0; i < 96; ++i) {
    KvLayer layer = {{8, 128, 128}, i % 2 == 0 ? 64 : 0};
    if (i % 3 == 0) layer.shape.state_bytes = 1024;
    layout.layers.push_back(layer);
    if (i % 8 == 0) layout.layers.push_back({{.state_bytes = 2048}});
  }
  const FrameLimits limits = {.n_lists = 1, .n_rows = 16};
  const KvPages pages = KvPages::create(layout, 64, limits).value();
  const std::string text = layers_text(pages);
  EXPECT_EQ(text,
            "16 layers, 8 heads of 128 and states of 1024 bytes in windows of 64, "
            "12 layers, states of 2048 bytes, 32 layers, 8 heads of 128, "
            "32 layers, 8 heads of 128 in windows of 64, "
            "16 layers, 8 heads of 128 and states of 1024 bytes");
  EXPECT_LT(text.size(), kMaxLayoutBytes - 100);
}

}  // namespace
}  // namespace ruv
