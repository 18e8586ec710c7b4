// For tests: media that look like text to a model, since their embeddings are rows of its own
// embedding table.
#pragma once

#include <gtest/gtest.h>

#include "cache/content_cells.h"
#include "engine/prompt_media.h"
#include "model/test_embeddings.h"

namespace ruv {

// Whether the rows have the positions of text, or are an image at one point of time.
enum class MediaKind : uint8_t { text, image };

inline MediaSpan media_like(const Model& model, const std::vector<Token>& ids, int64_t begin,
                            MediaKind kind = MediaKind::text) {
  MediaSpan span;
  span.rows = {begin, begin + std::ssize(ids)};
  std::string content(as_text(std::as_bytes(std::span(ids))));
  content += static_cast<char>(kind);
  const ContentCells cells(as_bytes(content), {7, 8});
  for (int32_t row = 0; row < std::ssize(ids); ++row) {
    span.cells.push_back(cells.at(row));
    span.positions.push_back(kind == MediaKind::text ? Position{row, row, row}
                                                     : Position{0, row / 4, row % 4});
  }
  span.embeddings = model.device->vector(embeddings_of(model, ids)).value().memory;
  return span;
}

}  // namespace ruv
