#include "cache/content_cells.h"

namespace ruv {

// Under two keys, for the 128 bits that a key has.
ContentCells::ContentCells(Bytes content, HashKey key)
    : content_{keyed_hash(as_text(content), key),
               keyed_hash(as_text(content), {key.low, ~key.high})} {}

PrefixCell ContentCells::at(int64_t row) const {
  const Bytes bytes = std::as_bytes(std::span(&row, 1));
  return PrefixCell::of_hash(keyed_hash(as_text(bytes), content_));
}

}  // namespace ruv
