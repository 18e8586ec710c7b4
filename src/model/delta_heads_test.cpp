// The heads of linear attention as files state them, and where the rows of their fused matrices
// lie.
#include "model/delta_heads.h"

#include <gtest/gtest.h>

#include "model/file_rows.h"

namespace ruv::delta_heads_test {
namespace {

using Rows = std::vector<int64_t>;

const FusedRow& fused_row(std::string_view tensor, FusedOrder order) {
  for (const FusedRow& row : fused_rows()) {
    if (row.tensor == tensor && row.order == order) return row;
  }
  ADD_FAILURE() << tensor;
  return fused_rows().front();
}

// Two key heads of two value heads each.
LayerPlan delta_plan() {
  LayerPlan plan;
  plan.mixer = Mixer::delta_net;
  plan.delta = {.n_keys = 2, .n_values = 4, .key_dim = 1, .value_dim = 2};
  return plan;
}

TEST(FusedRows, QueriesKeysValuesAndGateOfAKeyHeadFollowEachOther) {
  const FusedRow& row = fused_row("ssm_in", FusedOrder::key_heads);
  // Of each key head: a query, a key, four values, four numbers of the gate.
  EXPECT_EQ(rows_in_fused(row, Role::delta_in, delta_plan()),
            (Rows{0, 10, 1, 11, 2, 3, 4, 5, 12, 13, 14, 15}));
  EXPECT_EQ(rows_in_fused(row, Role::delta_gate, delta_plan()), (Rows{6, 7, 8, 9, 16, 17, 18, 19}));
}

TEST(FusedRows, BetasOfAKeyHeadComeBeforeItsDecays) {
  const FusedRow& row = fused_row("ssm_ba", FusedOrder::key_heads);
  EXPECT_EQ(rows_in_fused(row, Role::beta, delta_plan()), (Rows{0, 1, 4, 5}));
  EXPECT_EQ(rows_in_fused(row, Role::decay, delta_plan()), (Rows{2, 3, 6, 7}));
}

TEST(FusedRows, QueriesOfAHeadComeBeforeItsGate) {
  LayerPlan plan;
  plan.n_heads = 2;
  plan.n_kv_heads = 1;
  plan.head_dim = 3;
  plan.gates_attention = true;
  const FusedRow& row = fused_row("attn_q", FusedOrder::heads);
  EXPECT_EQ(rows_in_fused(row, Role::q, plan), (Rows{0, 1, 2, 6, 7, 8}));
  EXPECT_EQ(rows_in_fused(row, Role::attn_gate, plan), (Rows{3, 4, 5, 9, 10, 11}));
}

TEST(DeltaHeads, StateIsAMatrixForEachValueHead) {
  const DeltaHeads heads = {.n_keys = 2, .n_values = 4, .key_dim = 3, .value_dim = 5};
  EXPECT_EQ(heads.n_qkv(), 2 * 6 + 20);
  EXPECT_EQ(heads.n_inner(), 20);
  EXPECT_EQ(heads.n_state(), 60);
  EXPECT_EQ(heads.n_decays(), 4);
}

TEST(DeltaHeads, DecaysOfChannelsAreMadeOfNarrowRows) {
  LayerPlan plan = delta_plan();
  EXPECT_TRUE(plan.has(Role::decay));
  EXPECT_FALSE(plan.has(Role::decay_low));
  plan.delta = {.n_keys = 3, .n_values = 3, .key_dim = 5, .value_dim = 5, .by_channel = true};
  EXPECT_FALSE(plan.has(Role::decay));
  EXPECT_TRUE(plan.has(Role::gate_up));
  EXPECT_EQ(plan.extent(LayerSize::decays), 15);
  EXPECT_EQ(plan.extent(LayerSize::delta_low), 5);
}

}  // namespace
}  // namespace ruv::delta_heads_test
