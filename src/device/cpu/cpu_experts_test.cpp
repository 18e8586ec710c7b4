// Routing and experts against their meaning, on every instruction set, and rows in any company
// against rows alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <limits>

#include "device/batch_builder.h"
#include "device/cpu/cpu_ops.h"
#include "device/test_numbers.h"
#include "device/test_view.h"

namespace ruv::cpu_experts_test {
namespace {

constexpr int64_t kWidth = 64, kInner = 96, kExperts = 5, kMaxRows = 40, kMaxChosen = 5;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

bool same_bytes(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Matrices (n_out, n_in) of all experts on the host.
struct HostMatrices {
  int64_t n_out, n_in;
  std::vector<Numbers> matrices;

  HostMatrices(int64_t n_out_, int64_t n_in_, uint64_t seed) : n_out(n_out_), n_in(n_in_) {
    for (uint64_t e = 0; e < kExperts; ++e) {
      matrices.push_back(random_numbers(n_out * n_in, seed + e));
    }
  }
  double product(int64_t expert, const std::vector<double>& x, int64_t out) const {
    double sum = 0;
    const Numbers& w = matrices[static_cast<size_t>(expert)];
    for (int64_t i = 0; i < n_in; ++i) {
      sum += double{w[static_cast<size_t>(out * n_in + i)]} * x[static_cast<size_t>(i)];
    }
    return sum;
  }
};

const HostMatrices kGate(kInner, kWidth, 100), kUp(kInner, kWidth, 200), kDown(kWidth, kInner, 300);

class ExpertWorld {
 public:
  explicit ExpertWorld(const Kernels& kernels, DType dtype = DType::f32, int n_threads = 1,
                       int64_t rows_at_a_time = kMaxRows)
      : pool_(n_threads),
        pages_(std::move(
            *KvPages::create(CacheLayout::uniform(1, {1, 4, 4}), 1, {}, new_device(kernels)))),
        ops_(std::move(*CpuOps::create(kernels, pool_, pages_,
                                       {.max_rows = kMaxRows,
                                        .max_k = kInner,
                                        .max_head_dim = 4,
                                        .max_group = 1,
                                        .max_experts = 1024,
                                        .max_chosen = kMaxChosen}))),
        gate_(packed(kGate, dtype)),
        up_(packed(kUp, dtype)),
        down_(packed(kDown, dtype)),
        rows_(pages_.device(), nullptr, rows_at_a_time, kWidth),
        inner_(pages_.device(), nullptr, rows_at_a_time, kInner),
        other_(pages_.device(), nullptr, rows_at_a_time, kInner) {}

  // Rows of the numbers of `n_chosen` experts and their weights.
  Numbers routes(const Numbers& logits, int64_t n_experts, int64_t n_chosen,
                 const RouteParams& params, const Numbers& choice_bias = {}) {
    const int64_t n_rows = std::ssize(logits) / n_experts;
    const TestView in(pages_.device(), logits.data(), n_rows, n_experts);
    const TestView out(pages_.device(), nullptr, n_rows, 2 * n_chosen);
    ops_->route(out.view(), in.view(), vector_of(choice_bias), params);
    return out.numbers();
  }
  Numbers routes(const Numbers& logits, int64_t n_experts, int64_t n_chosen, bool normalises) {
    return routes(logits, n_experts, n_chosen, {.normalises = normalises});
  }
  // `params`: of what is there besides the matrices.
  Numbers experts(const Numbers& x, const Numbers& routes, ExpertsParams params = {}) {
    const int64_t n_rows = std::ssize(x) / kWidth;
    const TestView in(pages_.device(), x.data(), n_rows, kWidth);
    const TestView route(pages_.device(), routes.data(), n_rows, std::ssize(routes) / n_rows);
    const Numbers before(x.size(), kNaN);
    const TestView out(pages_.device(), before.data(), n_rows, kWidth);
    const ExpertScratch scratch{rows_.view(), inner_.view(), other_.view()};
    params.gate = gate_;
    params.up = up_;
    params.down = down_;
    params.scratch = &scratch;
    ops_->experts(out.view(), in.view(), route.view(), params);
    return out.numbers();
  }
  Vector vector_of(const Numbers& numbers) {
    return numbers.empty() ? Vector() : *pages_.device().vector(numbers);
  }
  // Each row of x times its factor.
  Numbers scaled_rows(const Numbers& x, const Numbers& factors) {
    const TestView in(pages_.device(), x.data(), std::ssize(factors),
                      std::ssize(x) / std::ssize(factors));
    const TestView by(pages_.device(), factors.data(), std::ssize(factors), 1);
    ops_->scale_rows(in.view(), by.view());
    return in.numbers();
  }
  // With matrices of rank 3 for some of the experts, products 1 to 3 of the gates, ups and downs.
  Adapter adapter(uint64_t seed) {
    constexpr int64_t kRank = 3;
    Adapter made;
    made.experts.resize(4);
    const HostMatrices* const of_model[] = {&kGate, &kUp, &kDown};
    for (size_t i = 0; i < 3; ++i) {
      std::vector<LowRank>& each = made.experts[i + 1];
      each.resize(kExperts);
      const std::vector<Weight> a =
          packed(HostMatrices(kRank, of_model[i]->n_in, seed + 10 * i), DType::f32);
      const std::vector<Weight> b =
          packed(HostMatrices(of_model[i]->n_out, kRank, seed + 100 + 10 * i), DType::f32);
      for (size_t e = 0; e < each.size(); ++e) {
        if ((e + seed + i) % 3 != 0) each[e] = {a[e], b[e], 0.5F};
      }
    }
    return made;
  }
  // experts() of the rows of the batch, with room for n_rows of products of low rank.
  Numbers adapted(const Numbers& x, const Numbers& routes, const Batch& batch, int64_t n_rows,
                  ExpertsParams params = {}) {
    const TestView inner(pages_.device(), nullptr, n_rows, 4);
    const TestView outer(pages_.device(), nullptr, n_rows, kInner);
    const LowRankScratch scratch{inner.view(), outer.view()};
    params.adapters = {&batch, &scratch, 1, 2, 3};
    return experts(x, routes, params);
  }
  void drop_gates() { gate_.clear(); }
  // Whoever reads an expert's matrices from now on reads address 0.
  void forget(size_t expert) {
    for (auto* matrices : {&gate_, &up_, &down_}) {
      (*matrices)[expert].packed = {};
      (*matrices)[expert].plain = {};
    }
  }

 private:
  std::vector<Weight> packed(const HostMatrices& host, DType dtype) {
    std::vector<Weight> weights;
    const Format& format = format_of(dtype);
    const auto row_bytes = static_cast<size_t>(format.bytes_of(host.n_in));
    for (const Numbers& matrix : host.matrices) {
      std::vector<std::byte>& bytes =
          encoded_.emplace_back(row_bytes * static_cast<size_t>(host.n_out));
      std::vector<const std::byte*> rows;
      for (int64_t i = 0; i < host.n_out; ++i) {
        rows.push_back(bytes.data() + static_cast<size_t>(i) * row_bytes);
        format.encode(&matrix[static_cast<size_t>(i * host.n_in)], nullptr,
                      bytes.data() + static_cast<size_t>(i) * row_bytes, host.n_in);
      }
      weights.push_back(*pack_weight(pages_.device(), pool_, dtype, host.n_in, rows));
    }
    return weights;
  }

  std::deque<std::vector<std::byte>> encoded_;
  WorkerPool pool_;
  KvPages pages_;
  std::unique_ptr<CpuOps> ops_;
  std::vector<Weight> gate_, up_, down_;
  TestView rows_, inner_, other_;
};

Numbers row_of(const Numbers& all, size_t n_rows, size_t i) {
  const size_t n = all.size() / n_rows;
  return {all.begin() + static_cast<std::ptrdiff_t>(i * n),
          all.begin() + static_cast<std::ptrdiff_t>((i + 1) * n)};
}

class Experts : public testing::TestWithParam<const Kernels*> {
 protected:
  ExpertWorld world_{*GetParam()};
};

TEST_P(Experts, ARowGoesToItsGreatestLogits) {
  const Numbers routes = world_.routes({0.5F, 2, -1, 2, 1}, 5, 3, false);
  EXPECT_EQ(Numbers(routes.begin(), routes.begin() + 3), (Numbers{1, 3, 4}));
  const double sum = std::exp(0.5) + 2 * std::exp(2.0) + std::exp(-1.0) + std::exp(1.0);
  EXPECT_NEAR(routes[3], std::exp(2.0) / sum, 1e-6);
  EXPECT_NEAR(routes[5], std::exp(1.0) / sum, 1e-6);
  const Numbers whole = world_.routes({0.5F, 2, -1, 2, 1}, 5, 3, true);
  EXPECT_NEAR(whole[3] + whole[4] + whole[5], 1, 1e-6);
  EXPECT_NEAR(whole[5], std::exp(1.0) / (2 * std::exp(2.0) + std::exp(1.0)), 1e-6);
}

TEST_P(Experts, OfEqualLogitsTheFirstCount) {
  EXPECT_EQ(row_of(world_.routes({1, 1, 1, 1, 1}, 5, 2, true), 2, 0), (Numbers{0, 1}));
  EXPECT_EQ(row_of(world_.routes({0, 1, 0, 1, 1}, 5, 2, true), 2, 0), (Numbers{1, 3}));
}

TEST_P(Experts, LogitsThatAreNoNumbersChooseExpertsThatExist) {
  for (const float x :
       {kNaN, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    const Numbers routes = world_.routes(Numbers(17, x), 17, 3, true);
    EXPECT_EQ(row_of(routes, 2, 0), (Numbers{0, 1, 2}));
  }
}

TEST_P(Experts, AllOfThemMayBeChosenOfAnyNumber) {
  for (const int64_t n : {1, 5, 16, 17, 1000, 1024}) {
    const int64_t n_chosen = std::min(n, kMaxChosen);
    const Numbers routes =
        world_.routes(random_numbers(3 * n, static_cast<uint64_t>(n)), n, n_chosen, true);
    for (size_t r = 0; r < 3; ++r) {
      const Numbers route = row_of(routes, 3, r);
      float sum = 0;
      for (size_t i = 0; i < route.size() / 2; ++i) {
        EXPECT_LT(route[i], static_cast<float>(n));
        EXPECT_GT(route[i], i > 0 ? route[i - 1] : -1);
        sum += route[route.size() / 2 + i];
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST_P(Experts, SigmoidsAreWeightsOfTheirOwn) {
  const RouteParams sigmoids{.score = RouterScore::sigmoid};
  const Numbers plain = world_.routes({0.5F, 2, -1, 3, 1}, 5, 2, sigmoids);
  EXPECT_EQ(Numbers(plain.begin(), plain.begin() + 2), (Numbers{1, 3}));
  EXPECT_NEAR(plain[2], sigmoid(2), 1e-6);
  EXPECT_NEAR(plain[3], sigmoid(3), 1e-6);
  const double sum = sigmoid(2) + sigmoid(3);
  RouteParams params{.score = RouterScore::sigmoid, .normalises = true, .scale = 2.5F};
  EXPECT_NEAR(world_.routes({0.5F, 2, -1, 3, 1}, 5, 2, params)[2], 2.5 * sigmoid(2) / sum, 1e-6);
  params.sum_added = 0.25F;
  EXPECT_NEAR(world_.routes({0.5F, 2, -1, 3, 1}, 5, 2, params)[2], 2.5 * sigmoid(2) / (sum + 0.25),
              1e-6);
  params.sum_least = 4;
  EXPECT_NEAR(world_.routes({0.5F, 2, -1, 3, 1}, 5, 2, params)[2], 2.5 * sigmoid(2) / 4, 1e-6);
}

TEST_P(Experts, ABiasChoosesAndDoesNotWeigh) {
  const Numbers bias = {0.9F, 0, 0, 0, 0.5F};
  const Numbers logits = {0.5F, 2, -1, 3, 1};
  const Numbers routes = world_.routes(logits, 5, 2, {.score = RouterScore::sigmoid}, bias);
  EXPECT_EQ(Numbers(routes.begin(), routes.begin() + 2), (Numbers{0, 4}));
  EXPECT_NEAR(routes[2], sigmoid(0.5), 1e-6);
  EXPECT_NEAR(routes[3], sigmoid(1), 1e-6);
  const Numbers softmax = world_.routes(logits, 5, 2, RouteParams{}, bias);
  const double sum = std::exp(0.5) + std::exp(2.0) + std::exp(-1.0) + std::exp(3.0) + std::exp(1.0);
  EXPECT_EQ(Numbers(softmax.begin(), softmax.begin() + 2), (Numbers{0, 3}));
  EXPECT_NEAR(softmax[2], std::exp(0.5) / sum, 1e-6);
}

TEST_P(Experts, ScalesOfExpertsAreMultipliedIntoNormalisedWeights) {
  const Vector scales = world_.vector_of({9, 0.5F, 9, -3, 9});
  const RouteParams params{.normalises = true, .scale = 2, .expert_scales = &scales};
  const Numbers routes = world_.routes({0.5F, 2, -1, 3, 1}, 5, 2, params);
  EXPECT_EQ(Numbers(routes.begin(), routes.begin() + 2), (Numbers{1, 3}));
  const double sum = std::exp(2.0) + std::exp(3.0);
  EXPECT_NEAR(routes[2], 0.5 * 2 * std::exp(2.0) / sum, 1e-6);
  EXPECT_NEAR(routes[3], -3 * 2 * std::exp(3.0) / sum, 1e-6);
}

TEST_P(Experts, OnlyThoseOfTheBestGroupsAreChosen) {
  const Numbers logits = {4, -9, 3, 3, 2, 2.5F, 1, 0};
  RouteParams params{.n_groups = 4, .n_groups_used = 2};
  EXPECT_EQ(row_of(world_.routes(logits, 8, 3, params), 2, 0), (Numbers{0, 2, 3}));
  params = {.score = RouterScore::sigmoid,
            .n_groups = 4,
            .n_groups_used = 2,
            .group_rank = GroupRank::best_two};
  EXPECT_EQ(row_of(world_.routes(logits, 8, 3, params), 2, 0), (Numbers{2, 3, 5}));
  // A bias counts for groups, too.
  const Numbers bias = {0, 0, 0, 0, 0, 0, 1, 1};
  EXPECT_EQ(row_of(world_.routes(logits, 8, 3, params, bias), 2, 0), (Numbers{2, 6, 7}));
}

TEST_P(Experts, LogitsThatAreNoNumbersChooseExpertsOfGroupsThatExist) {
  const RouteParams params{.score = RouterScore::sigmoid,
                           .n_groups = 3,
                           .n_groups_used = 1,
                           .group_rank = GroupRank::best_two};
  EXPECT_EQ(row_of(world_.routes(Numbers(6, kNaN), 6, 2, params), 2, 0), (Numbers{0, 1}));
}

// The second of the two is weighted as if the first were not there.
TEST_P(Experts, SparsemixerWeighsEachAmongThoseCloseToIt) {
  const RouteParams params{.score = RouterScore::sparsemixer, .closeness = 0.25F};
  const Numbers routes = world_.routes({2, 1.75F, 1.5F, -3, 1.25F}, 5, 2, params);
  EXPECT_EQ(Numbers(routes.begin(), routes.begin() + 2), (Numbers{0, 1}));
  // 2 is close to 1.75 and 1.5; 1.75 to 1.5, and 1.25 is (1.75 - 1.25) / 1.75 away.
  EXPECT_NEAR(routes[2], 1 / (1 + std::exp(-0.25) + std::exp(-0.5)), 1e-6);
  EXPECT_NEAR(routes[3], 1 / (1 + std::exp(-0.25)), 1e-6);
}

TEST_P(Experts, RowsAreScaledEachByItsFactor) {
  EXPECT_EQ(world_.scaled_rows({1, 2, 3, 4, 5, 6}, {2, 0, -1}), (Numbers{2, 4, 0, 0, -5, -6}));
}

TEST_P(Experts, GiveWeightedSumsOfFeedForwards) {
  const Numbers x = random_numbers(2 * kWidth, 7);
  const Numbers got = world_.experts(x, {1, 4, 0.25F, 0.75F, 0, 4, 2, -1});
  for (const auto& [row, chosen, weights] :
       {std::tuple(size_t{0}, std::array{1, 4}, std::array{0.25, 0.75}),
        std::tuple(size_t{1}, std::array{0, 4}, std::array{2.0, -1.0})}) {
    const Numbers input = row_of(x, 2, row);
    const std::vector<double> in(input.begin(), input.end());
    for (int64_t out = 0; out < kWidth; ++out) {
      double want = 0;
      for (size_t i = 0; i < 2; ++i) {
        std::vector<double> inner;
        for (int64_t j = 0; j < kInner; ++j) {
          const double gate = kGate.product(chosen[i], in, j);
          inner.push_back(gate / (1 + std::exp(-gate)) * kUp.product(chosen[i], in, j));
        }
        want += weights[i] * kDown.product(chosen[i], inner, out);
      }
      EXPECT_NEAR(row_of(got, 2, row)[static_cast<size_t>(out)], want, 2e-3);
    }
  }
}

// Biases, limits and weights of the inputs, against their meaning.
TEST_P(Experts, HaveBiasesAndLimitsAndMayWeighInputs) {
  const HostMatrices biases(3, kWidth + kInner, 400);
  std::vector<Vector> gate;
  std::vector<Vector> up;
  std::vector<Vector> down;
  for (const Numbers& b : biases.matrices) {
    gate.push_back(world_.vector_of({b.begin(), b.begin() + kInner}));
    up.push_back(world_.vector_of({b.begin() + kInner, b.begin() + 2 * kInner}));
    down.push_back(world_.vector_of({b.begin() + 2 * kInner, b.begin() + 2 * kInner + kWidth}));
  }
  const Numbers x = random_numbers(kWidth, 11);
  for (const bool weighs_inputs : {false, true}) {
    const Numbers got = world_.experts(x, {3, 0.5F},
                                       {.act = Act::quick_gelu,
                                        .gate_bias = gate,
                                        .up_bias = up,
                                        .down_bias = down,
                                        .limits = {.limit = 2, .up_shift = 1},
                                        .weighs_inputs = weighs_inputs});
    const Numbers& bias = biases.matrices[3];
    std::vector<double> in;
    for (const float number : x) in.push_back(weighs_inputs ? 0.5 * number : number);
    std::vector<double> inner;
    for (size_t j = 0; j < kInner; ++j) {
      const double g = std::min(kGate.product(3, in, static_cast<int64_t>(j)) + bias[j], 2.0);
      const double u = kUp.product(3, in, static_cast<int64_t>(j)) + bias[kInner + j];
      inner.push_back(g * sigmoid(1.702 * g) * (std::clamp(u, -2.0, 2.0) + 1));
    }
    for (size_t out = 0; out < kWidth; ++out) {
      const double sum =
          kDown.product(3, inner, static_cast<int64_t>(out)) + bias[2 * kInner + out];
      EXPECT_NEAR(got[out], weighs_inputs ? sum : 0.5 * sum, 2e-3);
    }
  }
}

TEST_P(Experts, MayHaveNoGates) {
  world_.drop_gates();
  const Numbers x = random_numbers(kWidth, 9);
  const std::vector<double> in(x.begin(), x.end());
  const Numbers got = world_.experts(x, {2, 4, 0.5F, -2}, {.act = Act::relu2});
  for (int64_t out = 0; out < kWidth; ++out) {
    double want = 0;
    for (const auto& [expert, weight] : {std::pair(2, 0.5), std::pair(4, -2.0)}) {
      std::vector<double> inner;
      for (int64_t j = 0; j < kInner; ++j) {
        const double up = std::max(kUp.product(expert, in, j), 0.0);
        inner.push_back(up * up);
      }
      want += weight * kDown.product(expert, inner, out);
    }
    EXPECT_NEAR(got[static_cast<size_t>(out)], want, 4e-3);
  }
}

// A step of one row reads its experts only.
TEST_P(Experts, ThoseThatNoRowChoseAreNotRead) {
  const Numbers x = random_numbers(kWidth, 8);
  const Numbers routes = {1, 3, 0.5F, 0.5F};
  const Numbers want = world_.experts(x, routes);
  for (const size_t other : {0U, 2U, 4U}) world_.forget(other);
  EXPECT_TRUE(same_bytes(world_.experts(x, routes), want));
}

// Rows in any company, on any number of threads and with little scratch; and on every instruction
// set the bytes of the reference.
TEST_P(Experts, ARowHasTheSameBytesInAnyCompany) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0}) {
    const Numbers x = random_numbers(kMaxRows * kWidth, 9);
    const Numbers logits = random_numbers(kMaxRows * kExperts, 10);
    const bool rounds = find_gemm(*GetParam(), dtype)->act == ActFormat::bf16;
    const Kernels& first = rounds ? *GetParam() : *all_kernels().front();
    ExpertWorld reference(first, dtype);
    const Numbers routes = reference.routes(logits, kExperts, 3, true);
    const Numbers want = reference.experts(x, routes);
    for (const int n_threads : {1, 3}) {
      ExpertWorld world(*GetParam(), dtype, n_threads);
      EXPECT_TRUE(same_bytes(world.routes(logits, kExperts, 3, true), routes));
      EXPECT_TRUE(same_bytes(world.experts(x, routes), want));
    }
    ExpertWorld small(*GetParam(), dtype, 2, kMaxRows / 2);
    ExpertWorld alone(*GetParam(), dtype, 1, 1);
    const size_t half = kMaxRows / 2;
    const auto part = [&](const Numbers& all, size_t first, size_t n) {
      const size_t width = all.size() / kMaxRows;
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(first * width);
      return Numbers(at, at + static_cast<std::ptrdiff_t>(n * width));
    };
    EXPECT_TRUE(same_bytes(small.experts(part(x, half, half), part(routes, half, half)),
                           part(want, half, half)));
    for (size_t i = 0; i < kMaxRows; i += 7) {
      EXPECT_TRUE(
          same_bytes(alone.routes(part(logits, i, 1), kExperts, 3, true), part(routes, i, 1)));
      EXPECT_TRUE(same_bytes(alone.experts(part(x, i, 1), part(routes, i, 1)), part(want, i, 1)));
    }
  }
}

// Long runs and short ones, and more rows than there is room for at a time.
TEST_P(Experts, WhatAdaptersAddDoesNotDependOnTheScratch) {
  for (const bool weighs_inputs : {false, true}) {
    ExpertWorld world(*GetParam()), narrow(*GetParam(), DType::f32, 3, kMaxRows);
    const ExpertsParams params{.weighs_inputs = weighs_inputs};
    const Adapter a = world.adapter(20), b = world.adapter(31);
    const AdapterShare shares[] = {{&a, 1}, {&b, -0.5F}};
    const AdapterMix mixes[] = {{shares, 1}, {}, shares, {shares + 1, 1}};
    const int64_t n_rows[] = {3, 10, 22, 5};
    const Numbers x = random_numbers(kMaxRows * kWidth, 1);
    const Numbers routes = world.routes(random_numbers(kMaxRows * kExperts, 2), kExperts, 2, true);
    BatchBuilder batch;
    for (size_t i = 0; i < std::size(mixes); ++i) {
      batch.begin_sequence(0, {});
      batch.set_adapters(mixes[i]);
      batch.add(std::vector<int32_t>(static_cast<size_t>(n_rows[i])));
    }
    const Numbers got = world.adapted(x, routes, batch.batch(), kMaxRows, params);
    for (const int64_t room : {1, 2, 7, 16}) {
      EXPECT_TRUE(same_bytes(narrow.adapted(x, routes, batch.batch(), room, params), got)) << room;
    }
    const Numbers plain = world.experts(x, routes, params);
    int64_t first = 0;
    for (size_t i = 0; i < std::size(mixes); ++i) {
      const auto part = [&](const Numbers& all, int64_t n_cols) {
        return Numbers(all.begin() + first * n_cols, all.begin() + (first + n_rows[i]) * n_cols);
      };
      BatchBuilder alone;
      alone.begin_sequence(0, {});
      alone.set_adapters(mixes[i]);
      alone.add(std::vector<int32_t>(static_cast<size_t>(n_rows[i])));
      EXPECT_TRUE(
          same_bytes(world.adapted(part(x, kWidth), part(routes, 4), alone.batch(), 4, params),
                     part(got, kWidth)));
      EXPECT_EQ(same_bytes(part(plain, kWidth), part(got, kWidth)), mixes[i].empty());
      first += n_rows[i];
    }
  }
}

TEST_P(Experts, EveryWayOfRoutingIsTheSameForARowAlone) {
  constexpr int64_t kMany = 96;
  const Numbers logits = random_numbers(kMaxRows * kMany, 12);
  const Numbers bias = random_numbers(kMany, 13);
  for (const RouteParams& params :
       {RouteParams{.score = RouterScore::sigmoid,
       .n_groups = 8,
       .n_groups_used = 3,
       .group_rank = GroupRank::best_two,
       .normalises = true,
       .sum_added = 1e-20F,
       .scale = 2.5F},
        RouteParams{.n_groups = 4, .n_groups_used = 2, .scale = 16},
        RouteParams{.score = RouterScore::sparsemixer, .closeness = 0.5F}}) {
    const bool mixes = params.score == RouterScore::sparsemixer;
    const int64_t n = mixes ? 2 : 4;
    const Numbers choice = mixes ? Numbers() : bias;
    ExpertWorld reference(*all_kernels().front());
    const Numbers want = reference.routes(logits, kMany, n, params, choice);
    ExpertWorld threads(*GetParam(), DType::f32, 3);
    EXPECT_TRUE(same_bytes(threads.routes(logits, kMany, n, params, choice), want));
    for (size_t i = 0; i < kMaxRows; i += 7) {
      EXPECT_TRUE(same_bytes(world_.routes(row_of(logits, kMaxRows, i), kMany, n, params, choice),
                             row_of(want, kMaxRows, i)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Experts, testing::ValuesIn(all_kernels()),
                         [](const auto& info) { return std::string(info.param->isa); });

}  // namespace
}  // namespace ruv::cpu_experts_test
