#include "device/batch_builder.h"

#include <gtest/gtest.h>

#include "device/adapter.h"

namespace ruv::batch_builder_test {
namespace {

using Rows = std::vector<int32_t>;

TEST(BatchBuilder, PacksSequencesOneAfterAnother) {
  const std::vector<PageId> first_pages = {4};
  const std::vector<PageId> second_pages = {7, 2};
  BatchBuilder builder;
  builder.begin_sequence(3, first_pages);
  builder.add(11);
  EXPECT_EQ(builder.want_logits(), 0);
  builder.begin_sequence(15, second_pages);
  builder.add(Rows{21, 22, 23});
  EXPECT_EQ(builder.want_logits(2), 1);
  EXPECT_EQ(builder.want_hidden(3), 0);

  const Batch& batch = builder.batch();
  EXPECT_EQ(batch.tokens, (Rows{11, 21, 22, 23}));
  EXPECT_EQ(batch.positions,
            (std::vector<Position>{{3, 3, 3}, {15, 15, 15}, {16, 16, 16}, {17, 17, 17}}));
  EXPECT_EQ(batch.logit_rows, (Rows{0, 2, 3}));
  EXPECT_EQ(batch.hidden_rows, (Rows{1, 2, 3}));
  ASSERT_EQ(batch.sequences.size(), 2U);
  EXPECT_EQ(batch.sequences[1].row_begin, 1);
  EXPECT_EQ(batch.sequences[1].n_rows, 3);
  EXPECT_EQ(batch.sequences[1].first_position, 15);
  EXPECT_EQ(batch.sequences[1].pages.data(), second_pages.data());
}

// An image's rows lie on one time and a grid; the text after them continues by its place.
TEST(BatchBuilder, EmbeddingsBringTheirOwnPositions) {
  const Address image(4096);
  const std::vector<Position> grid = {{1, 1, 1}, {1, 1, 2}};
  const std::vector<PageId> pages = {0};
  BatchBuilder builder;
  builder.begin_sequence(0, pages);
  builder.add(5);
  builder.add_embeddings({image, 2, 3}, grid);
  builder.see_each_other(2);
  builder.add(6);

  const Batch& batch = builder.batch();
  EXPECT_EQ(batch.tokens, (Rows{5, 0, 0, 6}));
  EXPECT_EQ(batch.positions, (std::vector<Position>{{0, 0, 0}, grid[0], grid[1], {3, 3, 3}}));
  ASSERT_EQ(batch.embedded.size(), 1U);
  EXPECT_EQ(batch.embedded[0].row_begin, 1);
  EXPECT_EQ(batch.embedded[0].rows.n_rows, 2);
  EXPECT_EQ(batch.sequences[0].n_rows, 4);
  ASSERT_EQ(batch.blocks.size(), 1U);
  EXPECT_EQ(batch.blocks[0].begin, 1);
  EXPECT_EQ(batch.blocks[0].end, 3);
  builder.clear();
  EXPECT_TRUE(builder.batch().blocks.empty());
}

// A grid of 2 by 2 has four places and two positions, so the text after it moves up; what it may
// attend to follows from its place all the same.
TEST(BatchBuilder, TextAfterAnImageHasAPositionBeforeItsPlace) {
  const std::vector<Position> grid = {{1, 1, 1}, {1, 1, 2}, {1, 2, 1}, {1, 2, 2}};
  BatchBuilder builder;
  builder.begin_sequence(0, {});
  builder.add(5);
  builder.add_embeddings({Address(4096), 4, 3}, grid);
  builder.set_position(3);
  builder.add(Rows{6, 7});
  builder.begin_sequence(7, {});
  builder.set_position(5);
  builder.add(8);
  builder.begin_sequence(9, {});
  builder.add(9);

  const Batch& batch = builder.batch();
  EXPECT_EQ(batch.positions, (std::vector<Position>{{0, 0, 0},
                                                    grid[0],
                                                    grid[1],
                                                    grid[2],
                                                    grid[3],
                                                    {3, 3, 3},
                                                    {4, 4, 4},
                                                    {5, 5, 5},
                                                    {9, 9, 9}}));
  EXPECT_EQ(batch.sequences[0].n_rows, 7);
  EXPECT_EQ(batch.sequences[1].first_position, 7);
}

TEST(BatchBuilder, ASequenceMayHaveAdapters) {
  const Adapter adapter;
  const AdapterShare shares[] = {{&adapter}, {&adapter, 0.5F}};
  BatchBuilder builder;
  builder.begin_sequence(0, {});
  builder.set_adapters({});
  EXPECT_FALSE(builder.batch().has_adapters);
  builder.begin_sequence(0, {});
  builder.set_adapters(shares);
  builder.begin_sequence(0, {});
  const Batch& batch = builder.batch();
  EXPECT_TRUE(batch.has_adapters);
  EXPECT_TRUE(std::ranges::equal(batch.sequences[1].adapters, shares));
  EXPECT_TRUE(batch.sequences[0].adapters.empty() && batch.sequences[2].adapters.empty());
}

TEST(BatchBuilder, ClearLeavesNothing) {
  const Adapter adapter;
  const AdapterShare share{&adapter};
  const Address image(4096);
  const std::vector<Position> place = {{0, 0, 0}};
  BatchBuilder builder;
  builder.begin_sequence(0, {});
  builder.set_adapters({&share, 1});
  builder.add_embeddings({image, 1, 3}, place);
  builder.want_logits();
  builder.want_hidden();
  builder.clear();
  const Batch& batch = builder.batch();
  EXPECT_EQ(batch.n_rows() + batch.n_logits() + batch.n_hidden(), 0);
  EXPECT_TRUE(batch.positions.empty() && batch.embedded.empty() && batch.sequences.empty());
  EXPECT_FALSE(batch.has_adapters);
}

}  // namespace
}  // namespace ruv::batch_builder_test
