// What the rows of media are known by, where they are, and where a prompt may be cut.
#include "engine/prompt_media.h"

#include <gtest/gtest.h>

#include "cache/content_cells.h"

namespace ruv {
namespace {

constexpr HashKey kKey = {1, 2};

// Rows at [begin, begin + n), all at the first one's position.
MediaSpan span_of(std::string_view content, int64_t begin, int64_t n, bool whole = false) {
  MediaSpan span;
  span.rows = {begin, begin + n};
  const ContentCells cells(as_bytes(content), kKey);
  for (int64_t row = 0; row < n; ++row) span.cells.push_back(cells.at(row));
  span.positions.assign(static_cast<size_t>(n), {0, 0, 0});
  span.embeddings.n_bytes = n * 3 * int64_t{sizeof(float)};
  span.whole = whole;
  return span;
}

TEST(PromptMedia, EqualContentInEqualPlacesIsEqual) {
  const PromptMedia none;
  const PromptMedia cat({span_of("cat", 3, 4), span_of("sea", 10, 2)});
  EXPECT_EQ(none.n_equal(none, 20), 20);
  EXPECT_EQ(cat.n_equal(cat, 20), 20);
  EXPECT_EQ(cat.n_equal(cat, 5), 5);
  EXPECT_EQ(cat.n_equal(none, 20), 3);
  EXPECT_EQ(none.n_equal(cat, 20), 3);
  EXPECT_EQ(none.n_equal(cat, 2), 2);
  EXPECT_EQ(cat.n_equal(PromptMedia({span_of("cat", 3, 4)}), 20), 10);
  EXPECT_EQ(cat.n_equal(PromptMedia({span_of("cat", 3, 4), span_of("sun", 10, 2)}), 20), 10);
  EXPECT_EQ(cat.n_equal(PromptMedia({span_of("dog", 3, 4), span_of("sea", 10, 2)}), 20), 3);
  EXPECT_EQ(cat.n_equal(PromptMedia({span_of("cat", 4, 4)}), 20), 3);
  EXPECT_EQ(cat.n_equal(PromptMedia({span_of("cat", 3, 2)}), 20), 5);
  EXPECT_EQ(cat.n_equal(PromptMedia({span_of("cat", 3, 2)}), 4), 4);
}

TEST(PromptMedia, TextAfterASpanHasThePositionAfterItsLargest) {
  MediaSpan image = span_of("image", 2, 4);
  image.positions = {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 1}};
  MediaSpan sound = span_of("sound", 8, 3);
  sound.positions = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}};
  const PromptMedia media({image, sound});
  std::vector<int64_t> tokens;
  std::vector<Position> rows;
  media.each_part(
      {1, 13},
      [&](Range places) {
        for (int64_t at = places.begin; at < places.end; ++at) {
          tokens.push_back(media.position_of(at));
        }
      },
      [&](const MediaSpan& span, Range places) {
        for (int64_t at = places.begin; at < places.end; ++at) {
          rows.push_back(span.positions[static_cast<size_t>(at - span.rows.begin)]);
        }
      });
  EXPECT_EQ(tokens, (std::vector<int64_t>{1, 4, 5, 9, 10}));
  EXPECT_EQ(rows,
            (std::vector<Position>{
                {2, 2, 2}, {2, 2, 3}, {2, 3, 2}, {2, 3, 3}, {6, 6, 6}, {7, 7, 7}, {8, 8, 8}}));
  EXPECT_EQ(PromptMedia().position_of(7), 7);
}

TEST(PromptMedia, PartsBeginAndEndInsideSpans) {
  const PromptMedia media({span_of("a", 2, 4), span_of("b", 6, 2)});
  std::string parts;
  const auto walk = [&](Range places) {
    parts.clear();
    const auto tell = [&](char kind, Range part) {
      parts += kind + std::to_string(part.begin) + "-" + std::to_string(part.end) + " ";
    };
    media.each_part(
        places, [&](Range part) { tell('t', part); },
        [&](const MediaSpan&, Range part) { tell('m', part); });
    return parts;
  };
  EXPECT_EQ(walk({0, 9}), "t0-2 m2-6 m6-8 t8-9 ");
  EXPECT_EQ(walk({3, 7}), "m3-6 m6-7 ");
  EXPECT_EQ(walk({0, 2}), "t0-2 ");
  EXPECT_EQ(walk({8, 9}), "t8-9 ");
  EXPECT_EQ(walk({6, 6}), "");
}

TEST(PromptMedia, ItIsCutAtTheEdgesOfSpansThatStayWhole) {
  const PromptMedia media({span_of("a", 2, 4, true), span_of("b", 6, 2), span_of("c", 8, 2, true)});
  std::vector<int64_t> edges;
  for (int64_t place = 0; place < 12; ++place) edges.push_back(media.edge_before(place));
  EXPECT_EQ(edges, (std::vector<int64_t>{0, 1, 2, 2, 2, 2, 6, 7, 8, 8, 10, 11}));
  EXPECT_EQ(media.whole().size(), 2U);
  EXPECT_EQ(media.end(), 10);
}

TEST(PromptMedia, CellsTakeThePlaceOfPlaceholders) {
  const MediaSpan span = span_of("a", 1, 2);
  std::vector<PrefixCell> cells;
  set_cells(std::vector<Token>{4, 0, 0, 5}, cells);
  PromptMedia({span}).write_cells(cells);
  EXPECT_EQ(cells,
            (std::vector<PrefixCell>{PrefixCell(4), span.cells[0], span.cells[1], PrefixCell(5)}));
}

TEST(PromptMedia, WhatDoesNotFitIsRefusedByName) {
  const MediaLimits limits = {.n_prompt = 10, .n_embd = 3, .max_whole = 4};
  const auto refusal = [&](const std::vector<MediaSpan>& spans) {
    const Status status = check_media(spans, limits);
    return status.ok() ? "" : status.message();
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({span_of("a", 0, 4, true), span_of("b", 4, 6)}), "");
  EXPECT_EQ(refusal({span_of("a", 1, 5, true)}),
            "medium at 1: 5 rows must be computed in one step, which has room for 4; raise "
            "max_batch_tokens");
  const std::string outside = "medium at 7: rows up to 11, after 0 of 10 places";
  EXPECT_EQ(refusal({span_of("a", 7, 4)}), outside);
  EXPECT_NE(refusal({span_of("a", -1, 4)}), "");
  EXPECT_NE(refusal({span_of("a", 3, 0)}), "");
  EXPECT_NE(refusal({span_of("a", 3, 4), span_of("b", 6, 1)}), "");
  EXPECT_NE(refusal({span_of("a", 3, 4), span_of("b", 1, 1)}), "");

  MediaSpan span = span_of("a", 2, 3);
  span.positions[1] = {0, 2, 0};
  EXPECT_EQ(refusal({span}), "");
  span.positions[1] = {0, 3, 0};
  EXPECT_EQ(refusal({span}), "medium at 2: a position is not within its 3 rows");
  span.positions[1] = {0, 0, -1};
  EXPECT_NE(refusal({span}), "");
  span.positions.pop_back();
  EXPECT_EQ(refusal({span}),
            "medium at 2: 3 cells, 2 positions and 36 bytes of embeddings for 3 rows of 3");
  span = span_of("a", 2, 3);
  span.cells[1] = PrefixCell(Token{5});
  EXPECT_EQ(refusal({span}), "medium at 2: a cell is not one of a medium");
  span.cells.pop_back();
  EXPECT_NE(refusal({span}), "");
  span = span_of("a", 2, 3);
  span.embeddings.n_bytes -= 4;
  EXPECT_NE(refusal({span}), "");
}

}  // namespace
}  // namespace ruv
