// SharedPlan: a block of attention and feed-forward before a layer's scan, whose weights several
// layers use in turn (Zamba 2, arXiv 2411.15242). It reads the stream and the embeddings beside
// each other and adds to what the scan reads, not to the stream. Each use has matrices of low rank
// of its own beside those it shares.
#pragma once

#include <cstdint>

#include "family/family.h"
#include "format/model_file.h"

namespace ruv {

struct SharedPlan {
  int64_t layer = -1;     // the first layer that uses the weights; -1: there is no such block
  int64_t use = 0;        // which of all uses of such blocks
  int64_t attn_rank = 0;  // 0: none
  int64_t ff_rank = 0;

  bool exists() const { return layer >= 0; }
};

}  // namespace ruv
