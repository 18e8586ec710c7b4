// Moments as bytes: what is rounded, what an optimiser makes of it, and what it takes.
#include "train/stored_moment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/rng.h"
#include "train/optimiser.h"

namespace ruv::stored_moment_test {
namespace {

// Ends, and the numbers of the lowest and the highest stretch.
TEST(ByteCode, HasNumbersOfSevenPowersOfTen) {
  const ByteCode& with = ByteCode::with_sign();
  const ByteCode& without = ByteCode::without_sign();
  EXPECT_EQ(with.value(255), 1);
  EXPECT_FLOAT_EQ(with.value(254), 1 - 0.9F / 128);
  EXPECT_FLOAT_EQ(with.value(0), -(1 - 0.9F / 128));
  EXPECT_EQ(with.value(127), 0);
  EXPECT_FLOAT_EQ(with.value(128), 0.55e-6F);
  EXPECT_EQ(without.value(255), 1);
  EXPECT_FLOAT_EQ(without.value(254), 1 - 0.9F / 256);
  EXPECT_EQ(without.value(0), 0);
  EXPECT_FLOAT_EQ(without.value(1), 0.325e-6F);
  EXPECT_FLOAT_EQ(without.value(2), 0.775e-6F);
  for (int byte = 1; byte < 256; ++byte) {
    EXPECT_LT(with.value(static_cast<uint8_t>(byte - 1)), with.value(static_cast<uint8_t>(byte)));
    EXPECT_LT(without.value(static_cast<uint8_t>(byte - 1)),
              without.value(static_cast<uint8_t>(byte)));
  }
}

// Beside a search of all values, for shares of all sizes; values are themselves.
TEST(ByteCode, RoundsToTheNearest) {
  Rng rng(5);
  for (const ByteCode* const code : {&ByteCode::with_sign(), &ByteCode::without_sign()}) {
    const bool has_sign = code == &ByteCode::with_sign();
    for (int byte = 0; byte < 256; ++byte) {
      EXPECT_EQ(code->nearest(code->value(static_cast<uint8_t>(byte))), byte);
    }
    for (int i = 0; i < 20000; ++i) {
      auto share = static_cast<float>(std::pow(10, -7 * rng.uniform()));
      if (has_sign && rng.uniform() < 0.5) share = -share;
      float least = 2;
      for (int byte = has_sign ? 0 : 1; byte < 256; ++byte) {
        least = std::min(least, std::abs(code->value(static_cast<uint8_t>(byte)) - share));
      }
      EXPECT_NEAR(std::abs(code->value(code->nearest(share)) - share), least, 1e-7F * least);
    }
  }
  EXPECT_EQ(ByteCode::with_sign().nearest(1e-8F), 127) << "0";
  EXPECT_EQ(ByteCode::without_sign().nearest(1e-30F), 1) << "not 0";
  EXPECT_EQ(ByteCode::without_sign().nearest(0), 0);
}

// Blocks of unlike sizes, the last one of 44 numbers. The greatest of a block, if it is not below
// 0, keeps its value; what was read is written to the same bytes.
TEST(StoredMoment, ErrorsAreSharesOfTheGreatestOfABlock) {
  constexpr int64_t kBlock = StoredMoment<float>::kBlock;
  for (const MomentForm form : {MomentForm::signed_bytes, MomentForm::unsigned_bytes}) {
    const bool has_sign = form == MomentForm::signed_bytes;
    constexpr int64_t kN = 2 * kBlock + 44;
    StoredMoment<float> moment = *StoredMoment<float>::create(kN, form);
    EXPECT_EQ(std::ssize(moment.memory()), kN + 3 * 4);
    Rng rng(7);
    for (int64_t first = 0; first < kN; first += kBlock) {
      const double size = std::pow(10, 6 - 0.05 * static_cast<double>(first));  // 1e6 to 1e-19
      const auto n = static_cast<size_t>(std::min(kBlock, kN - first));
      std::vector<float> numbers(n), again(n, 1);
      moment.read(first, again);
      EXPECT_EQ(again, numbers) << "0 at first";
      for (float& x : numbers) {
        x = static_cast<float>(size * std::pow(rng.uniform(), 5));
        if (has_sign && rng.uniform() < 0.5) x = -x;
      }
      numbers[3] = static_cast<float>(size);
      moment.write(first, numbers);
      moment.read(first, again);
      EXPECT_EQ(again[3], numbers[3]);
      for (size_t i = 0; i < n; ++i) {
        EXPECT_LE(std::abs(again[i] - numbers[i]), size * (has_sign ? 0.0071 : 0.0036));
        EXPECT_EQ(has_sign || again[i] > 0, has_sign || numbers[i] > 0);
      }
      const std::vector<std::byte> bytes(moment.memory().begin(), moment.memory().end());
      moment.write(first, again);
      EXPECT_EQ(std::vector<std::byte>(moment.memory().begin(), moment.memory().end()), bytes);
    }
  }
}

// An infinite square is the greatest number, and zeros stay zeros.
TEST(StoredMoment, WhatHasNoScaleIsWritten) {
  StoredMoment<float> moment = *StoredMoment<float>::create(4, MomentForm::unsigned_bytes);
  std::vector<float> numbers = {INFINITY, 1, 0, 3e38F};
  moment.write(0, numbers);
  moment.read(0, numbers);
  EXPECT_EQ(numbers[0], std::numeric_limits<float>::max());
  EXPECT_GT(numbers[1], 0);
  EXPECT_EQ(numbers[2], 0);
  moment.write(0, std::vector<float>(4, 0));
  moment.read(0, numbers);
  EXPECT_EQ(numbers, std::vector<float>(4, 0));
}

// A matrix of random numbers that is learned, and its gradient.
struct Learned {
  explicit Learned(size_t n) : values(n), gradient(n) {
    for (float& x : values) x = static_cast<float>(rng.uniform() - 0.5);
  }
  // Gradients of the sizes that those of a model have: some of them a thousandth of others.
  void draw() {
    for (size_t i = 0; i < gradient.size(); ++i) {
      const double size = std::pow(10, -3 * static_cast<double>(i % 97) / 96);
      gradient[i] = static_cast<float>(size * (rng.uniform() - 0.4));
    }
  }
  Parameter<float> parameter() { return {"output.weight", values, gradient, &matrix}; }

  Rng rng{11};
  TrainMatrix<float> matrix{Weight()};
  std::vector<float> values, gradient;
};

// The recurrence in float64, with both moments rounded after each step as their bytes are.
TEST(Adam, StepsComputeWithWhatBytesMean) {
  constexpr size_t kN = 5000;
  WorkerPool pool(2);
  Learned learned(kN);
  const Parameter<float> parameters[] = {learned.parameter()};
  Adam<float> adam = *Adam<float>::create(parameters, {.weight_decay = 0, .bytes_from = 4096});
  std::vector<double> p(learned.values.begin(), learned.values.end());
  std::vector<float> m(kN, 0), v(kN, 0);
  const auto round = [&](std::vector<float>& numbers, const ByteCode& code) {
    for (size_t first = 0; first < kN; first += 256) {
      const size_t end = std::min(kN, first + 256);
      float most = 0;
      for (size_t i = first; i < end; ++i) most = std::max(most, std::abs(numbers[i]));
      for (size_t i = first; i < end; ++i) {
        numbers[i] = code.value(code.nearest(numbers[i] / most)) * most;
      }
    }
  };
  for (int step = 1; step <= 4; ++step) {
    learned.draw();
    adam.step(parameters, step, 0.01, 1, pool);
    for (size_t i = 0; i < kN; ++i) {
      const double g = double{learned.gradient[i]};
      const double first = 0.9 * double{m[i]} + (1 - 0.9) * g;
      const double second = 0.999 * double{v[i]} + (1 - 0.999) * g * g;
      p[i] -= 0.01 * first / (1 - std::pow(0.9, step)) /
              (std::sqrt(second / (1 - std::pow(0.999, step))) + 1e-8);
      m[i] = static_cast<float>(first);
      v[i] = static_cast<float>(second);
    }
    round(m, ByteCode::with_sign());
    round(v, ByteCode::without_sign());
    for (size_t i = 0; i < kN; ++i) ASSERT_NEAR(double{learned.values[i]}, p[i], 1e-6) << i;
  }
}

// A number whose gradients end moves by less than the rate in each step after them, though its
// square is too small beside its neighbours': as 0 it would be m / eps, thousands of rates.
TEST(Adam, SmallSquaresAreNotLost) {
  WorkerPool pool(1);
  Learned learned(4096);
  std::ranges::fill(learned.values, 0.0F);
  const Parameter<float> parameters[] = {learned.parameter()};
  Adam<float> adam = *Adam<float>::create(parameters, {.weight_decay = 0, .bytes_from = 4096});
  for (int step = 1; step <= 3; ++step) {
    std::ranges::fill(learned.gradient, 1.0F);
    for (size_t i = 1; i < 4096; i += 2) learned.gradient[i] = step == 1 ? 2e-4F : 0.0F;
    const std::vector<float> before = learned.values;
    adam.step(parameters, step, 0.01, 1, pool);
    for (size_t i = 0; i < 4096; ++i) {
      EXPECT_LE(std::abs(learned.values[i] - before[i]), 0.0101F) << step << " " << i;
    }
  }
}

// 8 bytes of float32 become 2 and two scales of 4 for each 256 numbers.
TEST(Optimiser, MomentsAsBytesTakeAQuarter) {
  WorkerPool pool(1);
  Learned matrix(64 * 1024), small(4095), vector(8192);
  Parameter<float> norm = vector.parameter();
  norm.matrix = nullptr;
  const Parameter<float> parameters[] = {matrix.parameter(), small.parameter(), norm};
  const auto bytes_of = [&](size_t n, std::optional<int64_t> bytes_from) {
    const AdamNumbers numbers{.bytes_from = bytes_from};
    return Optimiser::create({parameters, n}, {.adam = numbers}, pool)->n_bytes();
  };
  EXPECT_EQ(bytes_of(1, {}), 8 * 64 * 1024);
  EXPECT_EQ(bytes_of(1, 4096), 2 * 64 * 1024 + 2 * 4 * 256);  // 2.03125 for each number
  EXPECT_EQ(bytes_of(3, 4096) - bytes_of(1, 4096), 8 * (4095 + 8192)) << "float32";
}

// Muon's momentum is the first moment alone. Its first step has nothing that was rounded.
TEST(Optimiser, MuonsMomentumMayBeBytes) {
  Weight shape;
  shape.n_out = 64;
  shape.n_in = 80;
  std::vector<std::vector<float>> values;
  for (const std::optional<int64_t> bytes_from :
       {std::optional<int64_t>(), std::optional<int64_t>(4096)}) {
    for (const int n_threads : {1, 3}) {
      WorkerPool pool(n_threads);
      Learned learned(64 * 80);
      TrainMatrix<float> matrix(shape);
      const Parameter<float> parameters[] = {
          {"blk.0.ffn_up.weight", learned.values, learned.gradient, &matrix}};
      Optimiser optimiser = *Optimiser::create(
          parameters, {.adam = {.bytes_from = bytes_from}, .muon = MuonNumbers()}, pool);
      EXPECT_EQ(optimiser.n_bytes(), bytes_from ? 64 * 80 + 4 * 20 : 4 * 64 * 80);
      for (int step = 1; step <= 3; ++step) {
        learned.draw();
        optimiser.step(parameters, step, 0.01, 1);
        values.push_back(learned.values);
      }
    }
  }
  ASSERT_EQ(values.size(), 12U);
  EXPECT_EQ(values[0], values[6]) << "the first step";
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(values[6 + i], values[9 + i]) << "threads";
  EXPECT_NE(values[2], values[8]);
  for (size_t i = 0; i < values[2].size(); ++i) EXPECT_NEAR(values[2][i], values[8][i], 2e-3);
}

}  // namespace
}  // namespace ruv::stored_moment_test
