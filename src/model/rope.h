// Rotary positions of a file: frequencies with their scaling for long contexts.
#pragma once

#include "device/ops.h"
#include "model/hparams.h"

namespace ruv {

struct RopePlans {
  RopePlan global;
  RopePlan local;  // windowed layers; empty where they have no base of their own
  // LongRoPE files have a second set for sequences beyond the original context.
  RopePlan extended;
  int64_t original_ctx = 0;  // 0: no second set
};

// Reads base, dimensions and scaling: none, linear (positions divided), llama3 (Llama 3.1: low
// frequencies divided, a ramp between), longrope (arXiv 2402.13753). Fails: unsupported (another
// scaling, named), corrupt.
Result<RopePlans> read_rope(const ModelFile& file, const FamilyRecord& family, const HParams& h);

}  // namespace ruv
