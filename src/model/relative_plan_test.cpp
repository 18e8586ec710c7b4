// Buckets as the published models have them: numbers are those of the reference implementation.
#include "model/relative_plan.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(RelativePlan, BucketsOfT5) {
  const std::pair<int64_t, int64_t> expected[] = {
      {0, 0},    {1, 1},    {7, 7},   {8, 8},   {11, 8},   {12, 9},   {15, 9},  {16, 10},
      {23, 11},  {31, 11},  {32, 12}, {45, 12}, {63, 13},  {64, 14},  {90, 14}, {91, 15},
      {128, 15}, {500, 15}, {-1, 17}, {-8, 24}, {-64, 30}, {-500, 31}};
  for (const auto& [distance, bucket] : expected) {
    EXPECT_EQ(t5_bucket(distance, 32, 128), bucket) << distance;
  }
}

TEST(RelativePlan, BucketsOfT5ForKeysBefore) {
  const std::pair<int64_t, int64_t> expected[] = {
      {-4, 0},  {0, 0},   {1, 1},    {15, 15},  {16, 16},  {18, 16},  {19, 17},
      {31, 21}, {64, 26}, {112, 30}, {113, 31}, {128, 31}, {5000, 31}};
  for (const auto& [distance, bucket] : expected) {
    EXPECT_EQ(t5_bucket_before(distance, 32, 128), bucket) << distance;
  }
}

TEST(RelativePlan, BucketsByTheLogarithm) {
  const std::pair<int64_t, int64_t> expected[] = {
      {1, 1},     {127, 127}, {128, 128}, {130, 130}, {200, 169},   {300, 207},  {400, 233},
      {510, 255}, {511, 255}, {512, 256}, {600, 270}, {-129, -129}, {-511, -255}};
  for (const auto& [distance, bucket] : expected) {
    EXPECT_EQ(log_bucket(distance, 256, 512), bucket) << distance;
  }
  for (const auto& [distance, bucket] :
       {std::pair<int64_t, int64_t>{2, 2}, {3, 3}, {63, 3}, {64, 4}, {-3, -3}, {-20, -3}}) {
    EXPECT_EQ(log_bucket(distance, 4, 64), bucket) << distance;
  }
}

}  // namespace
}  // namespace ruv
