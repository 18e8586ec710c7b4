// PromptMedia: the rows of a prompt that are embeddings of a medium (an image, a sound) and not
// tokens. In the prompt each has a placeholder id, which decides nothing: what is computed for such
// a row follows from its embedding and position, and what it is known by is its cell.
#pragma once

#include <algorithm>
#include <vector>

#include "base/range.h"
#include "base/result.h"
#include "cache/prefix_cell.h"
#include "device/address.h"
#include "device/batch.h"

namespace ruv {

struct Model;

// In the place of a medium's row among a sequence's tokens.
inline constexpr Token kNoToken = -1;

// The rows of one medium.
struct MediaSpan {
  Range rows;                     // their places in the prompt
  std::vector<PrefixCell> cells;  // of each row (cache/content_cells.h)
  // One for each row, relative to the position that a token in the place of the first would have.
  // Text after the span continues with one more than the largest.
  std::vector<Position> positions;
  DeviceMemory embeddings;  // (rows, n_embd) float32 numbers, on the model's device
  // The rows see each other: one step computes all of them, and a cached prefix never ends inside.
  bool whole = false;
};

// Media with the model that they were made for, as a request has them.
struct LoadedMedia {
  const Model* model = nullptr;
  std::vector<MediaSpan> spans;
};

// What spans must fit.
struct MediaLimits {
  int64_t n_prompt = 0;
  int64_t n_embd = 0;
  int64_t max_whole = 0;  // rows of a span that must stay whole
};
// Requires nothing. Fails: invalid, with the span's place: rows outside the prompt, in two spans or
// out of order; another number of cells, positions or embeddings than rows; a cell that a token may
// have; a position that is negative or not below the number of rows; a span that must stay whole of
// more than max_whole rows.
Status check_media(std::span<const MediaSpan> spans, const MediaLimits& limits);

// Costs nothing where there are no media: no memory, and no work for each row.
class PromptMedia {
 public:
  PromptMedia() = default;
  // No media, and all n rows see each other: the text of an encoder.
  static PromptMedia whole_text(int64_t n) {
    PromptMedia text;
    text.whole_ = {{0, n}};
    return text;
  }
  // Requires: spans that passed check_media. Throws std::bad_alloc.
  explicit PromptMedia(std::vector<MediaSpan> spans);

  bool empty() const { return spans_.empty(); }
  // The place after the last row; 0: there is none.
  int64_t end() const { return spans_.empty() ? 0 : spans_.back().rows.end; }
  // What must be computed whole, in order.
  std::span<const Range> whole() const { return whole_; }
  // The last place up to `place` that is not inside a span that must stay whole.
  int64_t edge_before(int64_t place) const;
  // The position of a token at `place`.
  int64_t position_of(int64_t place) const;
  // Puts the cells of the rows over those of their placeholders. Requires: a cell for each place.
  void write_cells(std::span<PrefixCell> cells) const;
  // How many of the first n places have equal cells in both, where the tokens are equal.
  int64_t n_equal(const PromptMedia& other, int64_t n) const;
  // Calls on_tokens(places) and on_rows(span, places) for the parts of `places`, in order. The
  // positions of the span that on_rows gets are those of the prompt.
  template <class OnTokens, class OnRows>
  void each_part(Range places, const OnTokens& on_tokens, const OnRows& on_rows) const {
    int64_t at = places.begin;
    for (const MediaSpan& span : spans_) {
      if (span.rows.end <= at) continue;
      if (span.rows.begin >= places.end) break;
      if (at < span.rows.begin) on_tokens(Range{at, span.rows.begin});
      const Range rows = {std::max(at, span.rows.begin), std::min(span.rows.end, places.end)};
      on_rows(span, rows);
      at = rows.end;
    }
    if (at < places.end) on_tokens(Range{at, places.end});
  }

 private:
  std::vector<MediaSpan> spans_;        // in order; positions are those of the prompt
  std::vector<int64_t> next_position_;  // of text after each span
  std::vector<Range> whole_;
};

}  // namespace ruv
