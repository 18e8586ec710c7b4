// Each strategy against small matrices that were merged by hand.
#include "adapt/merged_change.h"

#include <gtest/gtest.h>

#include <cmath>

#include "adapt/test_products.h"

namespace ruv {
namespace {

constexpr int64_t kRoom = 1 << 20;

MergedChange merge(const MergeRecipe& recipe, std::vector<ThinProduct> products, int n_threads = 1,
                   int64_t max_bytes = kRoom) {
  std::vector<ModuleChange> changes;
  for (ThinProduct& product : products) changes.push_back({changes.size(), std::move(product)});
  WorkerPool pool(n_threads);
  auto merged = merged_change(recipe, changes, "q", changes.size(), max_bytes, pool);
  EXPECT_TRUE(merged) << merged.error().message();
  return merged ? std::move(*merged) : MergedChange{};
}

std::vector<float> rows_of(const MergedChange& change) {
  std::vector<float> all, row(static_cast<size_t>(change.n_cols));
  for (int64_t i = 0; i < change.n_rows; ++i) {
    change.read_row(i, row);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

using Numbers = std::vector<float>;

TEST(LinearMerge, AddsChangesAndNotFactors) {
  const auto sum =
      merge({.weights = {2, -1}}, {rank_one({1, 2}, {3, 4}), rank_one({1, 0}, {5, 6})});
  EXPECT_EQ(rows_of(sum), (Numbers{1, 2, 12, 16}));
  EXPECT_EQ(sum.product->rank(), 2);
  EXPECT_EQ(rows_of(merge({.strategy = MergeStrategy::average},
                          {rank_one({1, 2}, {3, 4}), rank_one({1, 0}, {5, 6})})),
            (Numbers{4, 5, 3, 4}));
  EXPECT_EQ(rows_of(merge({.strategy = MergeStrategy::average, .weights = {3, 1}},
                          {rank_one({1, 2}, {3, 4}), rank_one({1, 0}, {5, 6})})),
            (Numbers{3.5, 4.5, 4.5, 6}));
  EXPECT_EQ(rows_of(merge({.strategy = MergeStrategy::most_recent, .weights = {1, 2}},
                          {rank_one({1, 2}, {3, 4}), rank_one({1, 0}, {5, 6})})),
            (Numbers{10, 12, 0, 0}));
}

TEST(SlerpMerge, FollowsTheArc) {
  const MergeRecipe half{.strategy = MergeStrategy::slerp};
  // A quarter turn: at its middle both have the share 1 / √2.
  const auto middle = rows_of(merge(half, {rank_one({1, 0}, {1, 0}), rank_one({0, 1}, {1, 0})}));
  EXPECT_FLOAT_EQ(middle[0], static_cast<float>(std::sqrt(0.5)));
  EXPECT_FLOAT_EQ(middle[2], static_cast<float>(std::sqrt(0.5)));
  const ThinProduct change = rank_one({1, 2}, {3, -4});
  for (const double t : {0.0, 0.3, 1.0}) {
    const auto same = merge({.strategy = MergeStrategy::slerp, .t = t}, {change, change});
    EXPECT_EQ(rows_of(same), numbers_of(change)) << t;
  }
  const ThinProduct other = rank_one({0, 1}, {1, 1});
  EXPECT_EQ(rows_of(merge({.strategy = MergeStrategy::slerp, .t = 0}, {change, other})),
            numbers_of(change));
  EXPECT_EQ(rows_of(merge({.strategy = MergeStrategy::slerp, .t = 1}, {change, other})),
            numbers_of(other));
  EXPECT_EQ(rows_of(merge({.strategy = MergeStrategy::interpolate, .t = 0.25}, {change, other})),
            (Numbers{2.25, -3, 4.75, -5.75}));
}

TEST(SlerpMerge, RefusesOppositeChanges) {
  WorkerPool pool(1);
  const ModuleChange changes[] = {{0, rank_one({1}, {1})}, {1, rank_one({-2}, {1})}};
  const auto merged =
      merged_change({.strategy = MergeStrategy::slerp}, changes, "q", 2, kRoom, pool);
  EXPECT_EQ(merged.error().code(), Code::invalid);
}

TEST(TiesMerge, OfTwoByTwoByHand) {
  // Half of each is kept: 4 and -3 of the first, 2 and 5 of the second.
  const ThinProduct first = two_columns({4, 1}, {-3, 0.5}), second = two_columns({2, -1}, {5, 0.5});
  const MergeRecipe ties{.strategy = MergeStrategy::ties};
  EXPECT_EQ(rows_of(merge(ties, {first, second})), (Numbers{3, 5, 0, 0}))
      << "-3 and 5 have the sign of 2: 5 alone";
  const MergeRecipe weighted{.strategy = MergeStrategy::ties, .weights = {1, 0.5}};
  EXPECT_EQ(rows_of(merge(weighted, {first, second})), (Numbers{2.5, 2.5, 0, 0}));
  const MergeRecipe all{.strategy = MergeStrategy::ties, .density = 1};
  EXPECT_EQ(rows_of(merge(all, {first, second})), (Numbers{3, 5, 1, 0.5}))
      << "1 and -1 have the sum 0, which counts as positive";
  const MergeRecipe prune{.strategy = MergeStrategy::prune};
  EXPECT_EQ(rows_of(merge(prune, {first, second})), (Numbers{6, 2, 0, 0}));
}

TEST(PruneMerge, KeepsJustTheShareWhereNumbersAreEqual) {
  const MergeRecipe half{.strategy = MergeStrategy::prune};
  EXPECT_EQ(rows_of(merge(half, {two_columns({1, 1}, {1, -1})})), (Numbers{1, 1, 0, 0}));
  const MergeRecipe little{.strategy = MergeStrategy::prune, .density = 0.2};
  EXPECT_EQ(rows_of(merge(little, {two_columns({1, 1}, {1, -1})})), (Numbers{0, 0, 0, 0}));
}

TEST(DareMerge, DropsTheSameWithASeedAndKeepsTheMean) {
  const std::vector<ThinProduct> ones = {rank_one({1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1}),
                                         rank_one({1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1})};
  MergeRecipe recipe{.strategy = MergeStrategy::dare, .density = 0.25, .seed = 5};
  const Numbers once = rows_of(merge(recipe, ones));
  EXPECT_EQ(once, rows_of(merge(recipe, ones, 3)));
  for (const float number : once) EXPECT_TRUE(number == 0 || number == 4 || number == 8);
  recipe.seed = 6;
  EXPECT_NE(once, rows_of(merge(recipe, ones)));
  double sum = 0;
  constexpr int kSeeds = 400;
  for (int seed = 0; seed < kSeeds; ++seed) {
    recipe.seed = static_cast<uint64_t>(seed);
    for (const float number : rows_of(merge(recipe, ones))) sum += number;
  }
  EXPECT_NEAR(sum / kSeeds / 32, 2, 0.1) << "of the sum of two ones";
}

TEST(DareTiesMerge, ElectsTheSignOfWhatIsKept) {
  const std::vector<ThinProduct> changes = {rank_one({1, 1}, {2, 2}), rank_one({1, 1}, {-1, -1})};
  const MergeRecipe all{.strategy = MergeStrategy::dare_ties, .density = 1};
  EXPECT_EQ(rows_of(merge(all, changes)), (Numbers{2, 2, 2, 2}));
}

TEST(NumberMerges, RefuseWhatHasNoRoom) {
  WorkerPool pool(1);
  const ModuleChange changes[] = {{0, rank_one({1, 1}, {1, 1})}};
  const MergeRecipe ties{.strategy = MergeStrategy::ties};
  EXPECT_EQ(merged_change(ties, changes, "q", 1, 15, pool).error().code(), Code::out_of_memory);
  EXPECT_TRUE(merged_change(ties, changes, "q", 1, 16, pool));
}

TEST(MergeRecipes, AreRefusedByTheNumberThatIsWrong) {
  const auto refusal = [](const MergeRecipe& recipe, size_t n = 2) {
    return check_recipe(recipe, n).message();
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_NE(refusal({.weights = {1}}).find("1 weights for 2"), std::string::npos);
  EXPECT_NE(refusal({.weights = {1, NAN}}).find("nan"), std::string::npos);
  EXPECT_NE(refusal({.strategy = MergeStrategy::average, .weights = {1, -1}}), "");
  EXPECT_NE(refusal({.strategy = MergeStrategy::slerp}, 3), "");
  EXPECT_NE(refusal({.strategy = MergeStrategy::slerp, .weights = {1, 1}}), "");
  EXPECT_NE(refusal({.strategy = MergeStrategy::slerp, .t = 1.5}), "");
  EXPECT_NE(refusal({.strategy = MergeStrategy::ties, .density = 0}), "");
  EXPECT_EQ(find_merge_strategy("WeightedSum").error().code(), Code::invalid);
  EXPECT_EQ(find_merge_strategy("sequential").value(), MergeStrategy::linear);
  EXPECT_EQ(find_merge_strategy("task_routed").error().code(), Code::unsupported);
  for (const MergeStrategyRow& row : merge_strategies()) {
    EXPECT_EQ(find_merge_strategy(row.name).value(), row.strategy);
    EXPECT_EQ(&strategy_row(row.strategy), &row);
  }
}

}  // namespace
}  // namespace ruv
