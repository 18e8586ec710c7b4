#include "device/cpu/ahead_search.h"

#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"
#include "device/packing.h"

namespace ruv {
namespace {

// A kernel whose calls take less time at one distance, on a clock that only they advance.
struct Trial {
  int64_t now = 0;
  int64_t n_calls = 0;
  int64_t fastest = 0;
  int64_t gain_percent = 0;           // of the fastest over all others
  int64_t gain_until_call = 1 << 30;  // from then on there is none
  int64_t call_ns = 100'000;
};
Trial trial;

class TrialClock final : public Clock {
 public:
  int64_t now_ns() const override { return trial.now; }
};

void run_trial(const GemmArgs& args) {
  const bool gains = args.ahead == trial.fastest && trial.n_calls < trial.gain_until_call;
  trial.now += gains ? trial.call_ns * 100 / (100 + trial.gain_percent) : trial.call_ns;
  // Every seventh call is held up.
  if (++trial.n_calls % 7 == 0) trial.now += 10 * trial.call_ns;
}

constexpr GemmKernel kTrial = {.weight = DType::q8_0,
                               .act = ActFormat::q8,
                               .mr = 8,
                               .group_bytes = [](int64_t k) { return k * 8; },
                               .pack = nullptr,
                               .run = run_trial,
                               .ahead = 4096};

int64_t searched(const Trial& as) {
  trial = as;
  const std::vector<std::byte> weights(64 * 8);
  const PackedGroups matrix{&kTrial, 64, 1, weights.data()};
  WorkerPool pool(1);
  const auto samples = ahead_samples({&matrix, 1}, 0, 1);
  return search_ahead(samples.at(0), pool, TrialClock());
}

TEST(AheadSearch, TakesTheFastestDistance) {
  for (const int64_t fastest : {512, 1024, 2048, 4096, 8192, 16384}) {
    EXPECT_EQ(searched({.fastest = fastest, .gain_percent = 10}), fastest);
  }
}

TEST(AheadSearch, KeepsTheUsualDistanceForASmallGain) {
  EXPECT_EQ(searched({.fastest = 512, .gain_percent = 4}), kTrial.ahead);
  EXPECT_EQ(searched({.fastest = 512, .gain_percent = 6}), 512);
}

TEST(AheadSearch, TriesAGainAgain) {
  EXPECT_EQ(searched({.fastest = 512, .gain_percent = 10, .gain_until_call = 6 * 45}),
            kTrial.ahead);
}

TEST(AheadSearch, KeepsTheUsualDistanceWhereTimeIsUp) {
  EXPECT_EQ(searched({.fastest = 512, .gain_percent = 50, .call_ns = 1'000'000}), 512);
  EXPECT_EQ(searched({.fastest = 512, .gain_percent = 50, .call_ns = 20'000'000}), kTrial.ahead);
  EXPECT_LT(trial.now, 2'000'000'000) << "it ends after the round in which time is up";
}

TEST(AheadSearch, SamplesAreSlicesOfTheCommonestShapeOfAFormat) {
  GemmKernel other = kTrial;
  other.weight = DType::q4_0;
  const int64_t n_long = (int64_t{2} << 20) / (8 * 1024) + 1;  // groups of a slice
  const std::vector<std::byte> at(static_cast<size_t>(3 * n_long * 8 * 1024));
  const std::vector<PackedGroups> matrices = {{&kTrial, 1024, 2 * n_long + 1, at.data()},
                                              {&kTrial, 32, 100, at.data()},
                                              {&kTrial, 1024, n_long - 1, at.data()},
                                              {&other, 64, 10, at.data()},
                                              {&kTrial, 1024, n_long, at.data()}};
  const auto samples = ahead_samples(matrices, 64 * 8 * 10, 1);
  ASSERT_EQ(samples.size(), 2U);
  const AheadSamples& q8 = samples[samples[0].kernel == &kTrial ? 0 : 1];
  EXPECT_EQ(q8.k, 1024);
  EXPECT_EQ(q8.n_groups, n_long);
  EXPECT_EQ(q8.slices,
            (std::vector<const std::byte*>{at.data(), at.data() + n_long * 8 * 1024, at.data()}));
  const AheadSamples& q4 = samples[samples[0].kernel == &kTrial ? 1 : 0];
  EXPECT_EQ(q4.n_groups, 10);
  EXPECT_EQ(q4.slices.size(), 1U);
  EXPECT_EQ(ahead_samples(matrices, 64 * 8 * 10 + 1, 1).size(), 1U) << "of q4_0 there are fewer";
  EXPECT_EQ(ahead_samples(matrices, 0, 2).size(), 2U);
  EXPECT_TRUE(ahead_samples({}, 0, 1).empty());
}

std::vector<Weight> packed_weights(Device& device, WorkerPool& pool) {
  std::vector<Weight> weights;
  for (const DType dtype : {DType::q8_0, DType::f16}) {
    const std::vector<std::byte> row(static_cast<size_t>(format_of(dtype).bytes_of(96)));
    const std::vector<const std::byte*> rows(100, row.data());
    weights.push_back(*pack_weight(device, pool, dtype, 96, rows));
  }
  weights.emplace_back();  // plain, as a table is
  return weights;
}

TEST(AheadSearch, DeviceTriesItsPackedMatrices) {
  WorkerPool pool(2);
  for (const Kernels* kernels : all_kernels()) {
    CpuDevice device(*kernels);
    const std::vector<Weight> weights = packed_weights(device, pool);
    const std::vector<ReadAhead> found = device.find_read_ahead(weights, 0, pool);
    ASSERT_EQ(found.size(), 2U) << kernels->isa;
    EXPECT_NE(found[0].dtype, found[1].dtype);
    for (const ReadAhead& distance : found) {
      EXPECT_GE(distance.n_bytes, 512U);
      EXPECT_LE(distance.n_bytes, 65536U);
    }
    EXPECT_TRUE(device.find_read_ahead(weights, 1 << 20, pool).empty()) << "too few to try";
    EXPECT_EQ(device.ahead(DType::q8_0), find_gemm(*kernels, DType::q8_0)->ahead);
    device.use_read_ahead(std::array{ReadAhead{DType::q8_0, 777}});
    EXPECT_EQ(device.ahead(DType::q8_0), 777);
    EXPECT_EQ(device.ahead(DType::f16), find_gemm(*kernels, DType::f16)->ahead);
    EXPECT_EQ(device.processor_id(), CpuDevice(*kernels).processor_id());
  }
}

}  // namespace
}  // namespace ruv
