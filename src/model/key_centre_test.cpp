#include "model/key_centre.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ruv {
namespace {

Model one_layer() {
  Model model;
  model.h.n_ctx_train = 1000;
  model.rope.plans = {{{0.7F, 1e-6F}}};
  model.plans = {{.n_kv_heads = 2, .head_dim = 6, .rope = 0}};
  return model;
}

const std::vector<float> kBias = {1, 2, 3, 4, 5, 6, -10, 20, -30, 40, -50, 60};

TEST(KeyCentre, IsTheMeanOfTheRotatedBias) {
  const Model model = one_layer();
  const std::vector<float> centre = key_centre(model, 0, kBias);
  ASSERT_EQ(centre.size(), kBias.size());
  for (size_t head = 0; head < 12; head += 6) {
    for (size_t pair = 0; pair < 2; ++pair) {
      double a = 0;
      double b = 0;
      for (int p = 0; p < 1000; ++p) {
        const double angle = double{model.rope.plans[0].inv_freq[pair]} * p;
        const double x = double{kBias[head + pair]};
        const double y = double{kBias[head + pair + 2]};
        a += x * std::cos(angle) - y * std::sin(angle);
        b += y * std::cos(angle) + x * std::sin(angle);
      }
      EXPECT_NEAR(centre[head + pair], a / 1000, 1e-4);
      EXPECT_NEAR(centre[head + pair + 2], b / 1000, 1e-4);
    }
    EXPECT_EQ(centre[head + 4], kBias[head + 4]);  // not rotated
    EXPECT_EQ(centre[head + 5], kBias[head + 5]);
  }
}

TEST(KeyCentre, IsTheBiasWhereNothingTurns) {
  Model model = one_layer();
  model.rope.plans[0].inv_freq = {0, 0};
  EXPECT_EQ(key_centre(model, 0, kBias), kBias);
}

TEST(KeyCentre, IsTheBiasWherePositionsAreLearned) {
  Model model = one_layer();
  model.plans[0].rope = -1;
  EXPECT_EQ(key_centre(model, 0, kBias), kBias);
}

TEST(KeyCentre, IsNothingWhereItsShiftWouldShow) {
  EXPECT_TRUE(key_centre(one_layer(), 0, {}).empty());
  EXPECT_TRUE(key_centre(one_layer(), 0, std::vector<float>(12)).empty());
  Model capped = one_layer();
  capped.plans[0].attn_softcap = 30;
  EXPECT_TRUE(key_centre(capped, 0, kBias).empty());
  Model normed = one_layer();
  normed.plans[0].qk_norm = QkNorm::heads;
  EXPECT_TRUE(key_centre(normed, 0, kBias).empty());
}

}  // namespace
}  // namespace ruv
