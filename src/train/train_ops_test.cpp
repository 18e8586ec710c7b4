// The derivative of each operation, in double precision, beside differences.
#include "train/train_ops.h"

#include <gtest/gtest.h>

#include "device/batch_builder.h"
#include "train/test_train_ops.h"

namespace ruv::train_ops_test {
namespace {

constexpr double kMost = 1e-7;

TEST(TrainOps, Activations) {
  for (size_t act = 0; act < kActs; ++act) {
    TrainWorld world;
    const View x = world.input(3, 7);
    EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.activate(x, Act{static_cast<uint8_t>(act)}); }),
              kMost)
        << act;
    const View gate = world.input(3, 5), up = world.input(3, 5);
    EXPECT_LT(
        world.error({gate}, [&](Ops& ops) { ops.gate(gate, up, Act{static_cast<uint8_t>(act)}); }),
        kMost)
        << act;
  }
}

TEST(TrainOps, OtherFunctionsOfNumbers) {
  TrainWorld world;
  const View x = world.input(3, 7);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.softcap(x, 0.7F); }), kMost);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.clamp(x, 0.5F); }), kMost);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.scale(x, -1.5F); }), kMost);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.xielu(x, {0.8F, 0.6F, 0.5F, -1e-6F}); }), kMost);
}

TEST(TrainOps, NormsOfRowsAndHeads) {
  for (const Norm kind : {Norm::rms, Norm::layer}) {
    TrainWorld world;
    const View x = world.input(5, 6);
    const View out = world.room(5, 6);
    const Vector weight = world.vector(6), bias = world.vector(6), turns = world.vector(12);
    const Vector of_heads = world.vector(3);
    const Ops::NormParams params = {kind, 1e-3F};
    const Vector& added = kind == Norm::layer ? bias : Vector();
    EXPECT_LT(world.error({out}, [&](Ops& ops) { ops.norm(out, x, weight, added, params); }),
              kMost);
    EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.norm(x, x, weight, {}, params); }), kMost);
    EXPECT_LT(world.error({out}, [&](Ops& ops) { ops.norm(out, x, turns, {}, params); }), kMost);
    EXPECT_LT(
        world.error({x}, [&](Ops& ops) { ops.norm(x.split(3), x.split(3), of_heads, {}, params); }),
        kMost);
    const View y = world.input(5, 6);
    EXPECT_LT(world.error({x, out}, [&](Ops& ops) { ops.add_norm(x, y, out, weight, {}, params); }),
              kMost);
  }
}

TEST(TrainOps, Sums) {
  TrainWorld world;
  const View x = world.input(4, 3), y = world.input(4, 3), out = world.room(4, 3);
  const View factors = world.input(4, 2), column = world.input(4, 1), row = world.input(1, 3);
  EXPECT_LT(world.error({x, y}, [&](Ops& ops) { ops.add(x, y); }), kMost);
  EXPECT_LT(world.error({x, out}, [&](Ops& ops) { ops.copy(out, x); }), kMost);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.add_scaled(x, y, {factors, 1, 0.5F}); }), kMost);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.scale_rows(x, column); }), kMost);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.multiply(x, y); }), kMost);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.multiply(x, row); }), kMost);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.cut_below(x, 0.1F); }), kMost);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.match_size(x, y, 1e-5F); }), kMost);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.match_size(x, y, 100.0F); }), kMost);
}

TEST(TrainOps, RowsBetweenOthers) {
  for (const int which : {0, 1, 2}) {
    TrainWorld world;
    const View x = world.input(4, 3), y = world.input(4, 3), room = world.room(4, 3);
    const View out = which == 0 ? room : which == 1 ? x : y;
    const View one = world.input(1, 3), each = world.input(4, 3);
    EXPECT_LT(world.error({out}, [&](Ops& ops) { ops.lerp(out, x, y, one); }), kMost) << which;
    EXPECT_LT(world.error({out}, [&](Ops& ops) { ops.lerp(out, x, y, each); }), kMost) << which;
  }
}

TEST(TrainOps, RowsFromOthers) {
  TrainWorld world;
  const View x = world.input(4, 3), y = world.input(4, 5);
  const View out = world.room(3, 3), both = world.room(4, 8);
  const std::vector<int32_t> rows = {2, 0, 2};
  EXPECT_LT(world.error({out, x}, [&](Ops& ops) { ops.gather(out, x, rows); }), kMost);
  EXPECT_LT(world.error({both, x}, [&](Ops& ops) { ops.join(both, x, y); }), kMost);
}

TEST(TrainOps, Tables) {
  TrainWorld world;
  const Weight table = world.matrix(5, 3);
  const View out = world.room(4, 3), x = world.input(4, 3);
  const std::vector<int32_t> rows = {4, 1, 4, 0};
  EXPECT_LT(world.error({out}, [&](Ops& ops) { ops.embed(out, table, rows, 1.5F); }), kMost);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.add_rows(x, table, rows); }), kMost);
  const std::vector<Position> positions = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {2, 2, 2}};
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.add_embedding(x, table, positions); }), kMost);
}

// Sizes that are no multiples of what is multiplied together.
TEST(TrainOps, Products) {
  TrainWorld world;
  const View x = world.input(7, 19);
  const View out = world.room(7, 37), part = world.room(3, 5), of_file = world.room(7, 4);
  const Weight w = world.matrix(37, 19), v = world.matrix(5, 19), frozen = world.plain(4, 19);
  const Vector bias = world.vector(37), none;
  const Ops::Product products[] = {
      {out, &w, &bias}, {part, &v, &none, 2}, {of_file, &frozen, &none}};
  EXPECT_LT(world.error({out, part, of_file}, [&](Ops& ops) { ops.matmul_each(products, x); }),
            kMost);
  const Weight heads[] = {world.matrix(2, 3), world.plain(2, 3)};
  const View of_heads = world.input(7, 6), made = world.room(7, 4);
  EXPECT_LT(world.error({made}, [&](Ops& ops) { ops.matmul_heads(made, of_heads, heads); }), kMost);
}

// Two sequences, of which the first has a block of rows that see each other.
Batch two_sequences(BatchBuilder& builder, int64_t first, int64_t second, bool block) {
  const std::vector<int32_t> tokens(static_cast<size_t>(first + second));
  builder.begin_sequence(0, {});
  builder.add(std::span(tokens).first(static_cast<size_t>(first)));
  if (block) builder.see_each_other(3);
  builder.begin_sequence(0, {});
  builder.add(std::span(tokens).subspan(static_cast<size_t>(first)));
  return builder.batch();
}

TEST(TrainOps, Positions) {
  TrainWorld world;
  BatchBuilder builder;
  const Batch batch = two_sequences(builder, 4, 2, false);
  const std::vector<RopePlan> plans = {{{1.0F, 0.3F}, 1.1F}, {{0.5F}, 1, {2}}};
  world.ops().begin(batch, plans);
  const View x = world.input(6, 10);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.rope(x, 5, plans[0]); }), kMost);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.rope(x, 2, plans[1]); }), kMost);
  EXPECT_LT(world.error({x}, [&](Ops& ops) { ops.scale_by_position(x, {0.5F, 2, 1}); }), kMost);
}

// Attention of two sequences with what `change` makes of the parameters.
double attend_error(const std::function<void(TrainWorld&, AttendParams&)>& change,
                    bool block = false, int64_t checkpoints = 0) {
  TrainWorld world;
  BatchBuilder builder;
  const Batch batch = two_sequences(builder, 7, 4, block);
  const View q = world.input(11, 4 * 3), k = world.input(11, 2 * 3), v = world.input(11, 2 * 2);
  const View out = world.room(11, 4 * 2);
  AttendParams params{.n_heads = 4, .n_kv_heads = 2, .key_dim = 3, .value_dim = 2, .scale = 0.6F};
  change(world, params);
  world.ops().begin(batch, {});
  return world.error(
      {out},
      [&](Ops& ops) {
        ops.store_kv(0, k, v, {});
        ops.attend(out, q, params);
      },
      checkpoints);
}

TEST(TrainOps, Attention) {
  EXPECT_LT(attend_error([](TrainWorld&, AttendParams&) {}), kMost);
  EXPECT_LT(attend_error([](TrainWorld&, AttendParams&) {}, true), kMost);
  EXPECT_LT(attend_error([](TrainWorld&, AttendParams& p) { p.window = 3; }), kMost);
  EXPECT_LT(attend_error([](TrainWorld&, AttendParams& p) { p.softcap = 0.5F; }), kMost);
  const auto chunks = [](TrainWorld&, AttendParams& p) { p.window = 3, p.chunked = true; };
  EXPECT_LT(attend_error(chunks), kMost);
  const auto both_ways = [](TrainWorld&, AttendParams& p) { p.window = 2, p.both_ways = true; };
  EXPECT_LT(attend_error(both_ways, true), kMost);
}

TEST(TrainOps, AttentionWithWhatIsAddedToScores) {
  Vector sinks;
  const auto with_sinks = [&](TrainWorld& world, AttendParams& p) {
    sinks = world.vector(4);
    p.sinks = &sinks;
  };
  EXPECT_LT(attend_error(with_sinks), kMost);
  const std::vector<float> slopes = {0.5F, 0.25F, 0.125F, 0.1F};
  EXPECT_LT(attend_error([&](TrainWorld&, AttendParams& p) { p.alibi.slopes = slopes; }), kMost);
  const std::vector<int32_t> columns = {0, 0, 1, 2, 3};
  Vector table;
  const auto distances = [&](TrainWorld& world, AttendParams& p) {
    table = world.vector(4 * 4);
    p.distances = {columns, 4, &table, world.input(11, 16), world.input(11, 16), 0.7F};
  };
  EXPECT_LT(attend_error(distances), kMost);
}

TEST(TrainOps, Convolutions) {
  for (const int64_t n_taps : {1, 3}) {
    TrainWorld world;
    BatchBuilder builder;
    const Batch batch = two_sequences(builder, 5, 2, false);
    world.ops().begin(batch, {});
    const View bcx = world.input(7, 12), out = world.room(7, 4), x = world.input(7, 4);
    const Vector taps = world.vector(n_taps * 4), bias = world.vector(4), none;
    EXPECT_LT(
        world.error({out},
                    [&](Ops& ops) { ops.short_conv(out, bcx, {.taps = &taps, .bias = &bias}); }),
        kMost);
    for (const std::optional<Act> act : {std::optional<Act>(), std::optional(Act::silu)}) {
      EXPECT_LT(
          world.error(
              {x}, [&](Ops& ops) { ops.convolve(x, {.taps = &taps, .bias = &none, .act = act}); }),
          kMost);
    }
    EXPECT_LT(world.error({out, x}, [&](Ops& ops) { ops.token_shift(out, x, {}); }), kMost);
  }
}

TEST(TrainOps, Recurrences) {
  TrainWorld world;
  BatchBuilder builder;
  const Batch batch = two_sequences(builder, 5, 2, false);
  world.ops().begin(batch, {});
  const View x = world.input(7, 3), input = world.input(7, 3), decay = world.input(7, 3);
  const Vector of_input = world.vector(3), of_decay = world.vector(3), rate = world.vector(3);
  const Adjoined<double> rates = world.device().memory().numbers(rate);
  for (int64_t i = 0; i < 3; ++i) rates.values[i] -= 2;
  const GatedRecurrenceParams params{
      .input_bias = &of_input, .decay_bias = &of_decay, .rate = &rate};
  EXPECT_LT(
      world.error({x, input}, [&](Ops& ops) { ops.gated_recurrence(x, input, decay, params); }),
      kMost);
}

TEST(TrainOps, LinearAttention) {
  for (const bool by_key : {false, true}) {
    for (const bool tiled : {false, true}) {
      TrainWorld world;
      BatchBuilder builder;
      const Batch batch = two_sequences(builder, 5, 2, false);
      world.ops().begin(batch, {});
      const int64_t n_decays = by_key ? 4 * 3 : 4;
      const View qkv = world.input(7, 2 * 2 * 3 + 4 * 2), beta = world.input(7, 4);
      const View decay = world.input(7, n_decays), out = world.room(7, 4 * 2);
      const Vector rate = world.vector(4), bias = world.vector(n_decays);
      const Adjoined<double> rates = world.device().memory().numbers(rate);
      for (int64_t i = 0; i < 4; ++i) rates.values[i] -= 1.5;
      const DeltaRuleParams params{.n_key_heads = 2,
                                   .n_value_heads = 4,
                                   .key_dim = 3,
                                   .value_dim = 2,
                                   .tiled = tiled,
                                   .beta_scale = 1.5F,
                                   .decay_rate = &rate,
                                   .decay_bias = &bias};
      EXPECT_LT(world.error({out},
                            [&](Ops& ops) {
                              ops.delta_rule(out, {qkv, beta, decay}, params);
                            }),
                1e-6)
          << by_key << tiled;
    }
  }
}

// Numbers that choose the same experts at both ends of a difference.
void spread_logits(TrainWorld& world, View logits) {
  const Adjoined<double> numbers = world.device().memory().numbers(logits, true);
  for (int64_t i = 0; i < numbers.size(); ++i) {
    numbers.values[i] = static_cast<double>(i * 7 % 11) * 0.2 + 0.02 * world.random();
  }
}

TEST(TrainOps, Routes) {
  for (const RouterScore score : {RouterScore::softmax, RouterScore::sigmoid}) {
    for (const bool normalises : {false, true}) {
      TrainWorld world;
      const View logits = world.input(3, 6), routes = world.room(3, 4);
      spread_logits(world, logits);
      const Vector scales = world.vector(6), none;
      RouteParams params{.score = score, .normalises = normalises, .sum_added = 0.1F};
      const auto error = [&] {
        return world.error({routes}, [&](Ops& ops) { ops.route(routes, logits, none, params); });
      };
      EXPECT_LT(error(), kMost);
      params.scale = 1.5F;
      params.expert_scales = &scales;
      EXPECT_LT(error(), kMost);
      params.n_groups = 3;
      params.n_groups_used = 2;
      params.group_rank = GroupRank::best_two;
      EXPECT_LT(error(), kMost);
    }
  }
}

TEST(TrainOps, Experts) {
  for (const bool gated : {true, false}) {
    for (const bool weighs_inputs : {false, true}) {
      TrainWorld world;
      const View logits = world.input(5, 3), routes = world.room(5, 4);
      const View x = world.input(5, 4), out = world.room(5, 4);
      spread_logits(world, logits);
      std::vector<Weight> gate, up, down;
      std::vector<Vector> gate_bias, up_bias, down_bias;
      for (int e = 0; e < 3; ++e) {
        if (gated) gate.push_back(world.matrix(5, 4));
        up.push_back(world.matrix(5, 4));
        down.push_back(e == 1 ? world.plain(4, 5) : world.matrix(4, 5));
        gate_bias.push_back(world.vector(5));
        up_bias.push_back(world.vector(5));
        down_bias.push_back(world.vector(4));
      }
      ExpertsParams params{.gate = gate, .up = up, .down = down, .act = Act::silu};
      params.weighs_inputs = weighs_inputs;
      const auto step = [&](Ops& ops) {
        ops.route(routes, logits, {}, {.normalises = true});
        ops.experts(out, x, routes, params);
      };
      EXPECT_LT(world.error({out}, step), 1e-6) << gated << weighs_inputs;
      params.up_bias = up_bias;
      params.down_bias = down_bias;
      if (gated) {
        params.gate_bias = gate_bias;
        params.limits = {8, 1};
      }
      EXPECT_LT(world.error({out}, step), 1e-6) << gated << weighs_inputs;
    }
  }
}

// Blocks of rows and keys that do not fit one tile.
TEST(TrainOps, LongAttention) {
  TrainWorld world;
  BatchBuilder builder;
  const Batch batch = two_sequences(builder, 70, 3, false);
  const View q = world.input(73, 2), k = world.input(73, 1), v = world.input(73, 1);
  const View out = world.room(73, 2);
  const AttendParams params{
      .n_heads = 2, .n_kv_heads = 1, .key_dim = 1, .value_dim = 1, .scale = 2, .window = 67};
  world.ops().begin(batch, {});
  EXPECT_LT(world.error({out},
                        [&](Ops& ops) {
                          ops.store_kv(0, k, v, {});
                          ops.attend(out, q, params);
                        }),
            kMost);
}

// Memory that is reused, read and written in place, in segments of every length.
TEST(TrainOps, CheckpointsChangeNothing) {
  for (const int64_t n : {0, 1, 2, 3}) {
    TrainWorld world;
    const View x = world.input(4, 5), h = world.room(4, 5), up = world.room(4, 5);
    const Weight w = world.matrix(5, 5), v = world.matrix(5, 5);
    const Vector weight = world.vector(5), none;
    const auto step = [&](Ops& ops) {
      for (int i = 0; i < 3; ++i) {
        ops.norm(h, x, weight, none, {Norm::rms, 1e-2F});
        ops.matmul(up, h, w, none);
        ops.activate(up, Act::silu);
        ops.matmul(h, up, v, none);
        ops.add(x, h);
      }
    };
    EXPECT_LT(world.error({x}, step, n), kMost) << n;
    EXPECT_LT(attend_error([](TrainWorld&, AttendParams&) {}, false, n), kMost) << n;
  }
}

TEST(TrainOps, WhatHasNoDerivativeIsRefusedByName) {
  TrainWorld world;
  world.ops().choose_keys({}, {}, {}, {});
  EXPECT_EQ(world.device().failure().code(), Code::unsupported);
  EXPECT_NE(world.device().failure().message().find("'choose_keys'"), std::string::npos);
}

TEST(TrainOps, AStepThatContinuesASequenceIsRefused) {
  TrainWorld world;
  BatchBuilder builder;
  builder.begin_sequence(3, {});
  builder.add(1);
  world.ops().begin(builder.batch(), {});
  EXPECT_EQ(world.device().failure().code(), Code::unsupported);
}

}  // namespace
}  // namespace ruv::train_ops_test
