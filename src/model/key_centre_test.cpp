#include "model/key_centre.h"

#include <gtest/gtest.h>

#include <cmath>

#include "family/family.h"

namespace ruv {
namespace {

Model one_layer(const FamilyRecord& spec, Vector bias) {
  Model model;
  model.family = &spec;
  model.h.n_layers = 1;
  model.h.n_kv_heads = 2;
  model.h.head_dim = 6;
  model.h.n_ctx_train = 1000;
  model.h.local_layers = {false};
  model.rope.global.inv_freq = {0.7F, 1e-6F};
  model.layers.emplace_back().k_bias = std::move(bias);
  return model;
}

const Vector kBias = {1, 2, 3, 4, 5, 6, -10, 20, -30, 40, -50, 60};

TEST(KeyCentre, IsTheMeanOfTheRotatedBias) {
  const FamilyRecord spec{.name = "test", .block = {}};
  const Model model = one_layer(spec, kBias);
  const Vector centre = key_centre(model, 0);
  ASSERT_EQ(centre.size(), kBias.size());
  for (size_t head = 0; head < 12; head += 6) {
    for (size_t pair = 0; pair < 2; ++pair) {
      double a = 0;
      double b = 0;
      for (int p = 0; p < 1000; ++p) {
        const double angle = double{model.rope.global.inv_freq[pair]} * p;
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
  const FamilyRecord spec{.name = "test", .block = {}};
  Model model = one_layer(spec, kBias);
  model.rope.global.inv_freq = {0, 0};
  EXPECT_EQ(key_centre(model, 0), kBias);
}

TEST(KeyCentre, IsTheBiasWherePositionsAreLearned) {
  const FamilyRecord spec{.name = "test", .block = {.positions = Positions::learned}};
  EXPECT_EQ(key_centre(one_layer(spec, kBias), 0), kBias);
}

TEST(KeyCentre, IsNothingWhereItsShiftWouldShow) {
  const FamilyRecord spec{.name = "test", .block = {}};
  EXPECT_TRUE(key_centre(one_layer(spec, {}), 0).empty());
  EXPECT_TRUE(key_centre(one_layer(spec, Vector(12, 0.0F)), 0).empty());
  Model capped = one_layer(spec, kBias);
  capped.h.attn_softcap = 30;
  EXPECT_TRUE(key_centre(capped, 0).empty());
  const FamilyRecord normed{.name = "test", .block = {.qk_norm = true}};
  EXPECT_TRUE(key_centre(one_layer(normed, kBias), 0).empty());
}

}  // namespace
}  // namespace ruv
