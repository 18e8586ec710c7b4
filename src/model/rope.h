// Rotary positions of a file: frequencies with their scaling for long contexts.
#pragma once

#include <span>
#include <vector>

#include "device/ops.h"
#include "model/hparams.h"

namespace ruv {

// The plans that layers choose among by index: the first for layers that see all keys, a second for
// windowed layers where these have a base of their own. None where positions are learned.
struct RopePlans {
  std::vector<RopePlan> plans;
  // LongRoPE files have a second set, for sequences beyond the original context.
  std::vector<RopePlan> extended;
  int64_t original_ctx = 0;  // 0: no second set
  // How many of the plans, the first ones, are those of an encoder with numbers of its own.
  int64_t n_of_source = 0;

  // Those of one side of such a model.
  RopePlans of_side(bool source) const {
    const auto middle = plans.begin() + n_of_source;
    RopePlans side;
    side.plans = source ? std::vector(plans.begin(), middle) : std::vector(middle, plans.end());
    return side;
  }

  // The plan of a layer with this window (0: none); -1: no plan.
  int64_t index_for(int64_t window) const {
    return window > 0 && plans.size() > 1 ? 1 : plans.empty() ? -1 : 0;
  }
  // The plans for sequences of up to n_ctx tokens.
  std::span<const RopePlan> for_context(int64_t n_ctx) const {
    return original_ctx > 0 && n_ctx > original_ctx ? extended : plans;
  }
};

// Reads base, dimensions and scaling: none, linear (positions divided), llama3 (Llama 3.1: low
// frequencies divided, a ramp between), yarn (arXiv 2309.00071), longrope (arXiv 2402.13753).
// Fails: unsupported (another scaling, named), corrupt.
Result<RopePlans> read_rope(const ModelFile& file, const FamilyRecord& family, const HParams& h);

}  // namespace ruv
