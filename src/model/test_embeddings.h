// For tests: rows of a model's embedding table.
#pragma once

#include <span>
#include <vector>

#include "model/model.h"
#include "tensor/format.h"

namespace ruv {

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

}  // namespace ruv
