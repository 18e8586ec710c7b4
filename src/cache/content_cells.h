// ContentCells: the prefix cells of a medium's rows, made from its bytes by a keyed hash.
#pragma once

#include "base/bytes.h"
#include "base/keyed_hash.h"
#include "cache/prefix_cell.h"

namespace ruv {

class ContentCells {
 public:
  // `content`: all that decides the medium's embeddings and the positions of its rows, thus its
  // bytes and how they are cut and scaled. Two contents have equal cells by a chance of 2^-63 for
  // each row. Any caller that knows `key` can look for such pairs, so it must be secret. The same
  // key after a restart finds the pages on disk again. Reads all of `content` twice.
  ContentCells(Bytes content, HashKey key);

  // Requires: row >= 0, counted from the medium's first row.
  PrefixCell at(int64_t row) const;

 private:
  HashKey content_;  // the hash of the content is the key of its rows
};

}  // namespace ruv
