// For tests: media that look like text to a model, since their embeddings are rows of its own
// embedding table.
#pragma once

#include <gtest/gtest.h>

#include "cache/content_cells.h"
#include "engine/prompt_media.h"
#include "model/model.h"
#include "tensor/format.h"

namespace ruv {

// Whether the rows have the positions of text, or are an image at one point of time.
enum class MediaKind : uint8_t { text, image };

// The embeddings of these tokens as they enter the first layer, (ids, n_embd) numbers.
inline std::vector<float> embeddings_of(const Model& model, std::span<const Token> ids) {
  const auto n_embd = static_cast<size_t>(model.h.n_embd);
  const Format& format = format_of(model.token_embd.dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(format.bytes_of(model.h.n_embd)));
  std::vector<float> rows(ids.size() * n_embd);
  for (size_t i = 0; i < ids.size(); ++i) {
    model.device->download(model.token_embd.plain.rows[static_cast<size_t>(ids[i])], bytes);
    format.decode(bytes.data(), &rows[i * n_embd], model.h.n_embd);
  }
  for (float& x : rows) x *= model.h.embed_scale;
  return rows;
}

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
